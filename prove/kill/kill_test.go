// Package kill kills a process at each point of each scenario, kills the next one
// somewhere in its recovery, and lets a third one find its way from there.
package kill

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/prove"
	"github.com/pi-workflows/wfcore/prove/scenario"
)

// recovery is the script of the second process.
const recovery = "recovery"

// inRecovery is how far into a recovery a process is killed at most; what comes later
// are polls that find nothing.
const inRecovery = 120

func TestKill(t *testing.T) {
	for _, s := range scenario.All {
		t.Run(s.Name, func(t *testing.T) {
			points := run(t, prove.Dir(t), s.Name, never)
			if len(points) < 20 {
				t.Fatalf("the process stops at %q alone", points)
			}
			t.Logf("%d points", len(points))
			for _, n := range prove.Sample(t, 6, upTo(len(points))) {
				t.Run(fmt.Sprintf("%d %s", n, points[n-1]), func(t *testing.T) {
					t.Parallel()
					killTwice(t, s.Name, n)
				})
			}
		})
	}
}

// killTwice kills a process at its nth point, and the next one at a point drawn for it.
func killTwice(t *testing.T, name string, n int) {
	dir := prove.Dir(t)
	run(t, dir, name, n)
	process(t, dir, 0, func(*scenario.World) error { return nil }) // which may have to make the store
	watch := scenario.Watch(dir)
	check := func(string) ([]string, error) { return watch() }
	scenario.WantNone(t, dir, check)

	again := 1 + rand.New(rand.NewPCG(uint64(n), uint64(len(name)))).IntN(inRecovery)
	t.Logf("the recovery is killed at point %d", again)
	run(t, dir, recovery, again)
	scenario.WantNone(t, dir, check)

	process(t, dir, time.Hour, scenario.Recover)
	scenario.WantNone(t, dir, check)
	scenario.WantNone(t, dir, scenario.Settled)
	process(t, dir, 2*time.Hour, scenario.Again)
	scenario.WantNone(t, dir, check)
	scenario.WantNone(t, dir, scenario.Secret)
}

// process is one that nobody kills.
func process(t *testing.T, dir string, after time.Duration, script func(*scenario.World) error) {
	t.Helper()
	w, err := scenario.Open(dir, scenario.Options{Process: "rescue " + after.String(), After: after})
	must(t, err)
	must(t, script(w))
	must(t, w.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// never is past the last point of any process.
const never = 1 << 30

// run lets a child play a script to its nth point and kills it there, or lets it end
// where it has fewer. It returns the points that the child came to.
func run(t *testing.T, dir, script string, n int) (points []string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVar+"="+script, dirVar+"="+dir, pointVar+"="+strconv.Itoa(n))
	stdin, err := cmd.StdinPipe() // it stays open, so that the child is held
	must(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	must(t, cmd.Start())
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		points = append(points, scanner.Text())
		if len(points) == n {
			must(t, cmd.Process.Kill())
			_ = cmd.Wait()
			return points
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child failed after %q: %v\n%s", points, err, stderr)
	}
	return points
}
