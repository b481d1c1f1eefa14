package prove

import (
	"slices"
	"testing"
)

func TestSample(t *testing.T) {
	points := make([]int, 100)
	for i := range points {
		points[i] = i
	}
	some := Sample(t, 10, points)
	if len(some) != 10 && !Full() || !slices.IsSorted(some) || len(slices.Compact(slices.Clone(some))) != len(some) {
		t.Errorf("not ten points in order: %v", some)
	}
	if !slices.Equal(some, Sample(t, 10, points)) {
		t.Error("one seed gave two samples")
	}
	if all := Sample(t, 100, points); !slices.Equal(all, points) {
		t.Errorf("not all: %v", all)
	}
}
