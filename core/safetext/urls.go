package safetext

import "strings"

// HasUserInfo tells whether ref holds, anywhere, a URL with user info, like
// "https://user@host" or "git+https://user:password@host/path". An "@" in a
// URL's path, an email address and "user@host:path" without a scheme are none.
func HasUserInfo(ref string) bool {
	text, _ := clean(ref, len(ref))
	r := redactor{s: text}
	for i := range len(text) {
		if c := text[i]; c != ':' && c != '%' && c != '\\' {
			continue
		}
		if start, _ := r.userInfo(i); start >= 0 {
			return true
		}
	}
	return false
}

// userInfo returns the user info of the URL whose "://" stands at i; start is
// below zero where there is none.
func (r *redactor) userInfo(i int) (start, end int) {
	s := r.s
	start = i
	encoded := false
	for _, want := range [...]byte{':', '/', '/'} {
		c, w := charAt(s, start)
		if c != want {
			return -1, 0
		}
		encoded = encoded || w == 3
		start += w
	}
	stop, at := authority(s, start, encoded)
	if at < 0 && r.cut && stop == len(s) {
		at = stop
	}
	if at < 0 && !encoded && hasPassword(s[start:stop]) {
		at = r.atSign(stop)
	}
	if at <= start {
		return -1, 0
	}
	return start, at
}

// authority returns the end of the authority at i and its last "@", or -1. In
// an encoded URL the delimiters are encoded too.
func authority(s string, i int, encoded bool) (stop, at int) {
	at = -1
	for stop = i; stop < len(s); {
		c, w := s[stop], 1
		if encoded || c == '\\' {
			c, w = charAt(s, stop)
		}
		if c == '@' {
			at = stop
		}
		if isSpace(c) || strings.IndexByte("/?#\"'`<>", c) >= 0 {
			break
		}
		if c == '\\' && stop+1 < len(s) && isQuote(s[stop+1]) {
			break
		}
		stop += w
	}
	return stop, at
}

// hasPassword tells whether an authority without "@" has something after its
// colon that is no port: then a password with a "/" was cut in two.
func hasPassword(authority string) bool {
	_, port, found := strings.Cut(authority, ":")
	return found && port != "" && !isNumber(port) && authority[0] != '['
}

// atSign returns the index of the first "@" in the word that goes on at i, or
// -1.
func (r *redactor) atSign(i int) int {
	if r.nextAt < i {
		r.nextAt = indexFrom(r.s, i, "@")
	}
	if r.nextBlank < i {
		r.nextBlank = indexFrom(r.s, i, " \t\r\n")
	}
	if r.nextAt < r.nextBlank {
		return r.nextAt
	}
	return -1
}
