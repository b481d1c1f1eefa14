package strictjson

import (
	"fmt"
	"strings"
	"testing"
)

const smallText = `{"workflow":"order.import","version":3,"input":{"id":"a1b2c3d4",` +
	`"items":[{"name":"bolt","count":12,"price":0.25},{"name":"nut","count":40,"price":0.1}],` +
	`"note":"line one\nline two","urgent":false,"parent":null},"options":{"timeout":30,` +
	`"retry":{"max":5,"delay":1.5}},"key":"2024-05-01T10:00:00Z/a1b2c3d4"}`

// largeText is a document of 1 MiB.
var largeText = func() string {
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < 1<<20-512; i++ {
		fmt.Fprintf(&b, "%s,\n", smallText)
	}
	return b.String() + `{"pad":"` + strings.Repeat("p", 1<<20-b.Len()-11) + `"}]}`
}()

var benchTexts = []struct{ name, text string }{
	{"300B", smallText},
	{"1MiB", largeText},
	{"Keys100k", manyKeys(100_000)},
	{"Numbers", "[" + strings.Repeat("0.1234567890123,", 1<<16) + "1]"},
	{"Integers", "[" + strings.Repeat("9007199254740992,", 1<<16) + "1]"},
	{"Text", `"` + strings.Repeat("plain words\\n\u00e9\u20ac", 1<<16) + `"`},
}

func BenchmarkCheck(b *testing.B) {
	for _, bench := range benchTexts {
		b.Run(bench.name, func(b *testing.B) {
			text := []byte(bench.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, bench := range benchTexts {
		b.Run(bench.name, func(b *testing.B) {
			text := []byte(bench.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Canonical(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkObject(b *testing.B) {
	text := []byte(smallText)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Object(text); err != nil {
			b.Fatal(err)
		}
	}
}
