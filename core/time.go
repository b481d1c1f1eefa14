package core

import "time"

const timeLayout = "2006-01-02T15:04:05.000Z"

// formatTime is the one writer of times: UTC, ISO 8601, milliseconds.
func formatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// parseTime reads a time as this or another host wrote it: any RFC 3339 text, with
// or without fractions, with any offset, whose year in UTC formatTime can write.
func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	// Go also takes "8:17:31" and "31,5", which are not RFC 3339 and no times to SQLite.
	if err != nil || text[13] != ':' || text[19] == ',' {
		return time.Time{}, false
	}
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// readTime gives a stored time in our one format. A text that is no instant
// stays as it is, for a person to read; it is never compared.
func readTime(text string) string {
	if t, ok := parseTime(text); ok {
		return formatTime(t)
	}
	return text
}

func readTimePtr(text *string) *string {
	if text == nil {
		return nil
	}
	t := readTime(*text)
	return &t
}

// compareTimes compares stored times as instants. A text that is none comes first.
func compareTimes(a, b string) int {
	at, _ := parseTime(a)
	bt, _ := parseTime(b)
	return at.Compare(bt)
}
