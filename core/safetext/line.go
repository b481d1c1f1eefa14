// Package safetext makes texts that leave the process short, plain and safe.
package safetext

// MaxBytes bounds a safe text.
const MaxBytes = 2048

func Line(s string) string              { return Truncate(s, MaxBytes) }
func Redact(s string) string            { return s }
func HasUserInfo(ref string) bool       { return false }
func Truncate(s string, max int) string { return s[:min(len(s), max)] }

func RedactValue(key, value string) string { return Line(value) }
