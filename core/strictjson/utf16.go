package strictjson

// UTF16Len returns the length of s in UTF-16 code units, as JavaScript counts
// it. Each byte that is not part of valid UTF-8 counts as one unit.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// CompareUTF16 orders a and b by their UTF-16 code units, as JavaScript and
// RFC 8785 do. It returns -1, 0 or 1. Characters above U+FFFF, written with
// surrogates, come before U+E000 to U+FFFF. Both strings should be valid
// UTF-8; others are still ordered consistently.
func CompareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := 0; i < n; i++ {
		if a[i] != b[i] {
			return compareBytes(a[i], b[i])
		}
	}
	switch {
	case len(a) < len(b):
		return -1
	case len(a) > len(b):
		return 1
	}
	return 0
}

// compareBytes orders two characters by the first bytes in which their UTF-8
// differs. That is the order of code points except that a first byte from 0xF0
// on, which begins a character above U+FFFF, comes before 0xEE and 0xEF, which
// begin U+E000 to U+FFFF.
func compareBytes(x, y byte) int {
	if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
		x, y = y, x
	}
	if x < y {
		return -1
	}
	return 1
}
