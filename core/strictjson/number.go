package strictjson

import (
	"math"
	"strconv"
	"strings"
)

const (
	// Integers of up to this many digits are exact as doubles and canonical
	// as written, except for -0.
	exactDigits = 15
	// The greatest doubles have 309 digits and may have a sign.
	maxIntegerBytes = 310
	// Exponents of more digits than this are out of range unless thousands
	// of digits before them make up for it. strconv stops counting exponents
	// that large and can return a wrong double for such numbers.
	maxExponentDigits = 4
)

// number reads the number that begins at pos.
func (s *scanner) number() *Error {
	start := s.pos
	if s.text[start] == '-' {
		s.pos++
	}
	first := s.pos
	if err := s.digits(); err != nil {
		return err
	}
	if s.text[first] == '0' && s.pos > first+1 {
		s.pos = first
		return s.fail(reasonLeadingZero)
	}
	if c := s.peek(); c == '.' || c|0x20 == 'e' {
		return s.real(start)
	}
	literal := s.text[start:s.pos]
	if s.pos-first > exactDigits {
		return s.longInteger(start, literal)
	}
	if literal == "-0" {
		literal = "0"
	}
	if s.emit {
		s.out = append(s.out, literal...)
	}
	return nil
}

// longInteger ends an integer literal that a double may not hold. The
// canonical form of a double from 2^53 up to 1e21 is an integer that need not
// be exact: 2^68 is 295147905179352825856 and its canonical form is
// 295147905179352830000. That form passes too, or canonical texts would be
// refused.
func (s *scanner) longInteger(start int, literal string) *Error {
	f, reason := parseDouble(literal)
	if reason == "" && !isExact(literal, f) {
		reason = reasonInexact
	}
	return s.endNumber(start, f, reason)
}

func isExact(literal string, f float64) bool {
	var buf [maxIntegerBytes]byte
	return literal == string(AppendFloat(buf[:0], f)) ||
		literal == string(strconv.AppendFloat(buf[:0], f, 'f', 0, 64))
}

// real reads the fraction and the exponent of the number that begins at start.
func (s *scanner) real(start int) *Error {
	if s.peek() == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	mantissa := s.text[start:s.pos]
	negative, exponent, err := s.exponent()
	if err != nil {
		return err
	}
	var f float64
	var reason string
	switch {
	case len(exponent) <= maxExponentDigits:
		f, reason = parseDouble(s.text[start:s.pos])
	case negative:
		reason = reasonTooSmall
	default:
		reason = reasonTooLarge
	}
	if reason != "" && !strings.ContainsAny(mantissa, "123456789") {
		f, reason = 0, ""
	}
	return s.endNumber(start, f, reason)
}

// exponent reads the exponent at pos, if there is one. It returns its sign and
// its digits without leading zeros.
func (s *scanner) exponent() (negative bool, digits string, err *Error) {
	if s.peek()|0x20 != 'e' {
		return false, "", nil
	}
	s.pos++
	sign := s.peek()
	if sign == '-' || sign == '+' {
		s.pos++
	}
	start := s.pos
	if err := s.digits(); err != nil {
		return false, "", err
	}
	return sign == '-', strings.TrimLeft(s.text[start:s.pos], "0"), nil
}

// digits passes one or more digits.
func (s *scanner) digits() *Error {
	if !isDigit(s.peek()) {
		return s.unexpected(reasonDigit)
	}
	i := s.pos + 1
	for i < len(s.text) && isDigit(s.text[i]) {
		i++
	}
	s.pos = i
	return nil
}

// parseDouble returns the double nearest to a number, or the reason why there
// is none if the number is not zero.
func parseDouble(literal string) (f float64, reason string) {
	// The only error left after the scan is a value out of range.
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return 0, reasonTooLarge
	}
	if f == 0 {
		return 0, reasonTooSmall
	}
	return f, ""
}

// endNumber ends the number that begins at start with its value f, or with
// the reason to refuse it.
func (s *scanner) endNumber(start int, f float64, reason string) *Error {
	if reason != "" {
		s.pos = start
		return s.fail(reason)
	}
	if s.emit {
		s.out = AppendFloat(s.out, f)
	}
	return nil
}

// AppendFloat appends f to dst as ECMAScript's Number::toString writes it: the
// shortest digits that read back as f, with an exponent from 1e21 up and below
// 1e-6. Negative zero is written 0. NaN and the infinities, which JSON cannot
// hold, are written null, as JSON.stringify writes them.
func AppendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case f == 0:
		return append(dst, '0')
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// strconv writes exponents below 10 with a leading zero: 1e-07.
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
