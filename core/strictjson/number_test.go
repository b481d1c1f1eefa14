package strictjson

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// floatTests are the number samples of RFC 8785, appendix B, by the bits of
// the double, with null for NaN and infinity.
var floatTests = []struct {
	bits uint64
	want string
}{
	{0x0000000000000000, "0"},
	{0x8000000000000000, "0"},
	{0x0000000000000001, "5e-324"},
	{0x8000000000000001, "-5e-324"},
	{0x7fefffffffffffff, "1.7976931348623157e+308"},
	{0xffefffffffffffff, "-1.7976931348623157e+308"},
	{0x4340000000000000, "9007199254740992"},
	{0xc340000000000000, "-9007199254740992"},
	{0x4430000000000000, "295147905179352830000"},
	{0x7fffffffffffffff, "null"},
	{0x7ff0000000000000, "null"},
	{0xfff0000000000000, "null"},
	{0x44b52d02c7e14af5, "9.999999999999997e+22"},
	{0x44b52d02c7e14af6, "1e+23"},
	{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
	{0x444b1ae4d6e2ef4e, "999999999999999700000"},
	{0x444b1ae4d6e2ef4f, "999999999999999900000"},
	{0x444b1ae4d6e2ef50, "1e+21"},
	{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
	{0x3eb0c6f7a0b5ed8d, "0.000001"},
	{0x41b3de4355555553, "333333333.3333332"},
	{0x41b3de4355555554, "333333333.33333325"},
	{0x41b3de4355555555, "333333333.3333333"},
	{0x41b3de4355555556, "333333333.3333334"},
	{0x41b3de4355555557, "333333333.33333343"},
	{0xbecbf647612f3696, "-0.0000033333333333333333"},
	{0x43143ff3c1cb0959, "1424953923781206.2"},
}

func TestAppendFloat(t *testing.T) {
	for _, test := range floatTests {
		got := string(AppendFloat([]byte("x"), math.Float64frombits(test.bits)))
		if got != "x"+test.want {
			t.Errorf("AppendFloat(%#x) = %s, want %s", test.bits, got[1:], test.want)
		}
	}
}

func TestAppendFloatAsNode(t *testing.T) {
	table, err := os.ReadFile("testdata/floats.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		hex, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendFloat(nil, math.Float64frombits(bits))); got != want {
			t.Errorf("AppendFloat(%s) = %s, want %s", hex, got, want)
		}
		if got, err := Canonical([]byte(want)); err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v", want, got, err)
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	tests := []struct{ text, want string }{
		{"1e-7", "1e-7"},
		{"1E-10", "1e-10"},
		{"1e21", "1e+21"},
		{"1e+100", "1e+100"},
		{"12.50", "12.5"},
		{"-12.0", "-12"},
		{"1e5", "100000"},
		{"0.1e1", "1"},
		{"999999999999999", "999999999999999"},
		{"-999999999999999", "-999999999999999"},
		{"1000000000000001", "1000000000000001"},
		{"4.9406564584124654e-324", "5e-324"},
		{"3e-324", "5e-324"},
		{"123456789012345678.0", "123456789012345680"},
		{"9007199254740993.0", "9007199254740992"},
		{"9007199254740993e0", "9007199254740992"},
	}
	for _, test := range tests {
		got, err := Canonical([]byte(test.text))
		if err != nil || string(got) != test.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", test.text, got, err, test.want)
		}
	}
}
