package face

import (
	"slices"
	"strconv"
	"strings"
)

// losesWrites says whether SQLite's library has the WAL-reset bug: 3.7.0 and later,
// until 3.51.3, and but for the branches that it was mended in.
func losesWrites(version string) bool {
	have := []int{}
	for _, part := range strings.Split(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		have = append(have, n)
	}
	if len(have) < 3 {
		return false
	}
	for _, mended := range [][]int{{3, 44, 6}, {3, 50, 7}} {
		if have[1] == mended[1] && slices.Compare(have, mended) >= 0 {
			return false
		}
	}
	return slices.Compare(have, []int{3, 7, 0}) >= 0 && slices.Compare(have, []int{3, 51, 3}) < 0
}
