package safetext

import (
	"math"
	"strings"
)

// redacted stands for a secret.
const redacted = "[redacted]"

// Redact returns s with each secret part replaced by "[redacted]": user info of
// URLs, passwords of "user:password@host", tokens behind authentication
// schemes, values of secret headers, keys and flags (in prose too, where they are
// quoted or look random), tokens with a known prefix, PEM blocks and long opaque
// runs. The result is valid UTF-8 without control and escape sequences, since these can
// hide a secret; line breaks stay, and there is no length bound.
func Redact(s string) string {
	text, _ := clean(s, math.MaxInt)
	return redact(text, false)
}

// redact redacts a clean text. Where the text was cut, its last cutMargin bytes
// are not shown unless a secret covers them.
func redact(text string, cut bool) string {
	r := redactor{s: text, cut: cut, shown: len(text)}
	if cut {
		r.shown = max(0, len(text)-cutMargin)
	}
	r.scan()
	return r.result()
}

// redactor walks over a text once. Each rule looks at the text from the current
// index and either covers a secret or leaves the index to the next rule.
type redactor struct {
	s     string
	cut   bool // s is the start of a longer text
	shown int  // nothing from here on is shown

	out  strings.Builder
	done int // everything before is in out

	wordEnd int // the end of the last word that was looked at as a key
	blobEnd int // the end of the last run that was looked at as a blob
	tools   int // the programs that were named, of toolCurl and so on

	// The next "@", blank and line break, kept so that a text full of URLs and
	// headers is searched for them once.
	nextAt, nextBlank, nextBreak int
}

// cover replaces s[start:end], which is not before what is done.
func (r *redactor) cover(start, end int) {
	if r.out.Len() == 0 {
		r.out.Grow(min(len(r.s), r.shown) + len(redacted))
	}
	if r.done < r.shown {
		r.out.WriteString(r.s[r.done:min(start, r.shown)])
		r.out.WriteString(redacted)
	}
	r.done = end
}

// between redacts s[start:end], which stands between a name and its secret and
// may hold another one, since the scan goes on behind the latter.
func (r *redactor) between(start, end int) {
	end = min(end, r.shown)
	if end-start < minUnmarked {
		return
	}
	gap := r.s[start:end]
	if safe := redact(gap, false); safe != gap {
		r.out.WriteString(r.s[r.done:start])
		r.out.WriteString(safe)
		r.done = end
	}
}

// lineEnd returns the index of the first line break at or after i.
func (r *redactor) lineEnd(i int) int {
	if r.nextBreak < i {
		r.nextBreak = indexFrom(r.s, i, "\r\n")
	}
	return r.nextBreak
}

func (r *redactor) result() string {
	if r.done == 0 {
		return r.s[:r.shown]
	}
	if r.done < r.shown {
		r.out.WriteString(r.s[r.done:r.shown])
	}
	return r.out.String()
}

func (r *redactor) scan() {
	s := r.s
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case isAlnum(c):
			i = r.word(i)
		case c == '-':
			i = r.dash(i)
		case c == ':':
			i = r.colon(i, 1)
		case c == '%':
			_, w := percentAt(s, i)
			i = r.colon(i, w)
		case c == '\\':
			i = r.backslash(i)
		default:
			i++
		}
	}
}

// word applies the rules for the word that starts at i and returns where the
// scan goes on.
func (r *redactor) word(i int) int {
	s := r.s
	if i >= r.blobEnd {
		end, secret := blobEnd(s, i)
		r.blobEnd = end
		if secret {
			return r.blob(i, end)
		}
	}
	if end := tokenEnd(s, i); end >= 0 {
		r.cover(i, end)
		return end
	}
	if i >= r.wordEnd {
		r.wordEnd = wordEnd(s, i)
		if start, end := r.behind(i, r.wordEnd); start >= 0 {
			return r.coverBehind(r.wordEnd, start, end)
		}
		r.program(s[i:r.wordEnd])
	}
	return alnumEnd(s, i)
}

// coverBehind covers the secret s[start:end] behind a name that ends at nameEnd
// and returns where the scan goes on. The secret may be a name itself, also of a
// program, which the scan does not come to see.
func (r *redactor) coverBehind(nameEnd, start, end int) int {
	for start >= 0 {
		r.program(r.s[start:end])
		end = blockEnd(r.s, start, end)
		r.between(nameEnd, start)
		r.cover(start, end)
		nameEnd = end
		start, end = r.spaced(start, end)
	}
	return nameEnd
}

// behind returns the secret that the word s[i:end] announces.
func (r *redactor) behind(i, end int) (start, stop int) {
	if start, stop = r.assigned(i, end); start >= 0 {
		return start, stop
	}
	if start, stop = r.scheme(i, end); start >= 0 {
		return start, stop
	}
	if start, stop = r.identified(i, end); start >= 0 {
		return start, stop
	}
	return r.login(i, end)
}

// blob covers the opaque run s[i:end] with the padding behind it. Where the
// last word of the run is a key, its value is covered too.
func (r *redactor) blob(i, end int) int {
	s := r.s
	key := i + strings.LastIndexAny(s[i:end], "/+") + 1
	start, valueEnd := r.assigned(key, end)
	r.cover(i, end)
	if start >= end {
		return r.coverBehind(end, start, valueEnd)
	}
	return end
}

// scheme returns the token behind the authentication scheme s[i:end].
func (r *redactor) scheme(i, end int) (start, stop int) {
	s := r.s
	if !foldedIn(s[i:end], "bearer", "basic", "token") {
		return -1, 0
	}
	start = skipSeparators(s, end)
	if start == end || !r.mayBeToken(start) {
		return -1, 0
	}
	// What is longer than the window is no prose.
	window := s[:min(len(s), start+4*maxName)]
	stop = bareEnd(window, start)
	if !opaque(s[start:stop]) {
		return -1, 0
	}
	return start, bareEnd(s, start)
}

// mayBeToken tells whether what stands at i, behind the name of an
// authentication scheme, can be a token.
func (r *redactor) mayBeToken(i int) bool {
	s := r.s
	if i == len(s) || s[i] == '{' || s[i] == '[' {
		return false
	}
	return !isChallenge(s, i) && !r.startsKey(i) && !r.startsOtherLine(i)
}

// isChallenge tells the parameter of a server's challenge at i, like realm="x".
func isChallenge(s string, i int) bool {
	end := wordEnd(s[:min(len(s), i+maxName)], i)
	return foldedIn(s[i:end], "realm", "error", "error_description", "scope", "charset") &&
		(strings.HasPrefix(s[end:], `="`) || strings.HasPrefix(s[end:], "='"))
}

// dash applies the rules for texts that start with a dash.
func (r *redactor) dash(i int) int {
	s := r.s
	if i > 0 && s[i-1] == '-' {
		return i + 1
	}
	if end := keyBlockEnd(s, i); end >= 0 {
		r.cover(i, end)
		return end
	}
	if i == 0 || isSpace(s[i-1]) || isQuote(s[i-1]) {
		start, end := r.userFlag(i)
		if start < 0 {
			start, end = r.passwordFlag(i)
		}
		if start >= 0 {
			return r.coverBehind(start, start, end)
		}
	}
	return i + 1
}

// colon covers the user info behind a "://" at i; w is the width of the
// character there.
func (r *redactor) colon(i, w int) int {
	start, end := r.userInfo(i)
	if start < 0 {
		return i + w
	}
	r.cover(start, end)
	return end
}

// backslash steps over an escaped character. After \n, \r and \t a word starts
// behind the letter, but the letter may also be the first one of the word.
func (r *redactor) backslash(i int) int {
	s := r.s
	c, w := charAt(s, i)
	if c == ':' {
		return r.colon(i, w)
	}
	if w == 2 && isSpace(c) && i+2 < len(s) && isAlnum(s[i+2]) {
		before := r.done
		if next := r.word(i + 2); r.done > before {
			return next
		}
		r.wordEnd, r.blobEnd = 0, 0
		return i + 1
	}
	return i + w
}
