package hostsql

import "strings"

// countParameters is how many arguments a statement takes: the highest n of its ?n.
// Only that form is in use, and sqlc makes no other; text, names and comments hold
// none.
func countParameters(query string) (highest int) {
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = after(query, i+1, string(c))
		case strings.HasPrefix(query[i:], "--"):
			i = after(query, i, "\n")
		case strings.HasPrefix(query[i:], "/*"):
			i = after(query, i+2, "*/")
		case c == '?':
			n := 0
			for i+1 < len(query) && '0' <= query[i+1] && query[i+1] <= '9' {
				i++
				n = n*10 + int(query[i]-'0')
			}
			highest = max(highest, n)
		}
	}
	return highest
}

// after is the index of the last byte of what ends at the next end.
func after(query string, from int, end string) int {
	at := strings.Index(query[from:], end)
	if at < 0 {
		return len(query)
	}
	return from + at + len(end) - 1
}
