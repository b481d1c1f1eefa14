package safetext

import "strings"

// traceMark stands for a line that is nothing but a stack trace.
const traceMark = "(stack trace removed)"

// maxFrame bounds how far a stack frame is looked for behind its " at ", in
// bytes.
const maxFrame = 512

// cutTrace returns the part of a line before the first stack frame, goroutine
// dump, Python traceback or cause. A cause at the start is all that the line
// says, so it stays.
func cutTrace(line string) string {
	const cause = "Caused by:"
	from := 0
	if strings.HasPrefix(line, cause) {
		from = len(cause)
	}
	end := len(line)
	for _, mark := range []string{"Traceback (most recent call last)", cause, "[cause]:"} {
		if n := strings.Index(line[from:end], mark); n >= 0 {
			end = from + n
		}
	}
	end = min(end, goroutineStart(line[:end]))
	end = min(end, frameStart(line[:end]))
	if end == len(line) {
		return line
	}
	// Node opens a brace for the properties of an error before its cause.
	if kept := strings.TrimRight(line[:end], " {"); kept != "" {
		return kept
	}
	return traceMark
}

// goroutineStart returns the index of "goroutine 1 [", or len(line).
func goroutineStart(line string) int {
	const mark = "goroutine "
	for from := 0; ; {
		n := strings.Index(line[from:], mark)
		if n < 0 {
			return len(line)
		}
		digits := from + n + len(mark)
		end := digits
		for end < len(line) && isDigit(line[end]) {
			end++
		}
		if end > digits && strings.HasPrefix(line[end:], " [") {
			return from + n
		}
		from = digits
	}
}

// frameStart returns the index where the first stack frame starts, or
// len(line).
func frameStart(line string) int {
	const mark = "at "
	for from := 0; ; {
		n := strings.Index(line[from:], mark)
		if n < 0 {
			return len(line)
		}
		start := from + n
		from = start + len(mark)
		if (start == 0 || line[start-1] == ' ') && isFrame(line[from:min(len(line), from+maxFrame)]) {
			return start
		}
	}
}

// isFrame tells whether s starts like "fn (file:1:2)", "fn(File:1)" or
// "/path:1:2".
func isFrame(s string) bool {
	s = strings.TrimPrefix(s, "async ")
	s = strings.TrimPrefix(s, "new ")
	name, rest, _ := strings.Cut(s, " ")
	if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, "node:") {
		if positions(strings.TrimRight(name, "),")) == 2 {
			return true
		}
	}
	if open := strings.IndexByte(name, '('); open > 0 {
		place, _, closed := strings.Cut(s[open+1:], ")")
		return closed && isPlace(place, 1)
	}
	if _, after, ok := strings.Cut(rest, "] "); ok && strings.HasPrefix(rest, "[as ") {
		rest = after
	}
	if !strings.HasPrefix(rest, "(") {
		return false
	}
	place, _, closed := strings.Cut(rest[1:], ")")
	return closed && isPlace(place, 2)
}

// isPlace tells whether s is where a frame's code stands, with at least the
// given count of numbers (line, column).
func isPlace(s string, numbers int) bool {
	switch s {
	case "<anonymous>", "native", "native code", "Native Method", "Unknown Source":
		return true
	}
	return positions(s) >= numbers || strings.HasPrefix(s, "index ")
}

// positions counts the ":<digits>" at the end of s, up to two.
func positions(s string) int {
	for count := range 2 {
		end := len(s)
		for end > 0 && isDigit(s[end-1]) {
			end--
		}
		if end == len(s) || end < 2 || s[end-1] != ':' {
			return count
		}
		s = s[:end-1]
	}
	return 2
}
