package safetext

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	hex64 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	jwt   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
)

// canary is a text with the secret part of it.
type canary struct{ text, secret string }

// canaries are those of testdata/canaries.json, which tests of other packages read
// too: by what they are forms of, texts in which "§" stands for the secret.
var canaries = sync.OnceValue(func() (all []canary) {
	var forms map[string][][2]string
	if err := json.Unmarshal(testdata("canaries.json"), &forms); err != nil {
		panic(err)
	}
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		for _, c := range forms[form] {
			all = append(all, canary{strings.Replace(c[0], "§", c[1], 1), c[1]})
		}
	}
	return all
})

// benign are texts without a secret, one a line.
var benign = sync.OnceValue(func() []string {
	return strings.Split(strings.TrimSpace(string(testdata("benign.txt"))), "\n")
})

func testdata(name string) []byte {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return data
}
