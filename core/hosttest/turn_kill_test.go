package hosttest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/hosttest"
)

// turnChildVar holds the job of a test binary that is run again as a process to kill.
const turnChildVar = "WFCORE_HOSTTEST_CHILD"

// turnJob is what such a process does.
type turnJob struct {
	Dir       string
	Path      core.Resolution
	Appending hosttest.Appending
	First     bool
	// After is when it starts, after the epoch.
	After time.Duration
}

func (j turnJob) script() turnScript {
	s := turnScript{turnDelivery: turnDelivery{path: j.Path}, runID: "run", first: j.First, passes: 2, every: turnInterval}
	if !j.First {
		s.passes, s.every = 3, turnLease/2
	}
	return s
}

// turnJournal keeps a session's entries as lines of JSON in a file.
type turnJournal string

func (path turnJournal) Append(e hosttest.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(string(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func (path turnJournal) Entries() (entries []hosttest.Entry, err error) {
	data, err := os.ReadFile(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var e hosttest.Entry
		err = errors.Join(err, json.Unmarshal(line, &e))
		entries = append(entries, e)
	}
	return entries, err
}

// world is the session of a job, whose entries and store are in files.
func (j turnJob) world(t testing.TB) *turnWorld {
	clock := hosttest.NewClock(turnEpoch.Add(j.After))
	w := turnWorldOf(t, clock, turnFile(t, j.Dir, clock.Now), turnSession)
	w.session.Branch.Journal = turnJournal(filepath.Join(j.Dir, "branch"))
	w.session.Appending = j.Appending
	return w
}

// TestTurnChild is the process that is killed. It says at which point it is in a line,
// and goes on when it reads a byte.
func TestTurnChild(t *testing.T) {
	text, is := os.LookupEnv(turnChildVar)
	if !is {
		return
	}
	var job turnJob
	turnMust(t, json.Unmarshal([]byte(text), &job))
	w := job.world(t)
	w.name = fmt.Sprint("child-", job.First)
	w.restart()
	w.session.Appending = job.Appending
	var counter turnCounter
	w.at = func(point string) bool {
		before := counter.points
		counter.at(point)
		if counter.points > before {
			fmt.Println(turnChildAt, point)
			if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
				os.Exit(3) // the parent is gone
			}
		}
		return false
	}
	w.must(job.script().play(w.host, func() bool { return false }))
}

const turnChildAt = "child at"

// turnKill lets a process go to its nth point and kills it there, or lets it end where
// it has fewer. It returns its points.
func turnKill(t *testing.T, job turnJob, n int) (points []string) {
	t.Helper()
	self, err := os.Executable()
	turnMust(t, err)
	text, err := json.Marshal(job)
	turnMust(t, err)
	cmd := exec.Command(self, "-test.run=^TestTurnChild$")
	cmd.Env = append(os.Environ(), turnChildVar+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	turnMust(t, err)
	stdout, err := cmd.StdoutPipe()
	turnMust(t, err)
	turnMust(t, cmd.Start())
	var other []string
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		point, is := strings.CutPrefix(scanner.Text(), turnChildAt+" ")
		if !is {
			other = append(other, scanner.Text())
			continue
		}
		points = append(points, point)
		if len(points) == n {
			turnMust(t, cmd.Process.Kill())
			_ = cmd.Wait()
			return points
		}
		_, err := stdin.Write([]byte{'\n'})
		turnMust(t, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the child failed after %q: %v\n%s", points, err, strings.Join(other, "\n"))
	}
	return points
}

// Guards: as of the matrix of crashes, and that what a process has stored outlives it.
func TestTurnTwoKillsTellTwiceOrNever(t *testing.T) {
	const all = 1 << 20
	killed := 0
	for _, path := range []core.Resolution{core.ByFallback, core.ByWorkflowPrompt} {
		for _, appending := range []hosttest.Appending{hosttest.AppendNow, hosttest.AppendLate} {
			job := turnJob{Path: path, Appending: appending, First: true}
			undisturbed := job
			undisturbed.Dir = t.TempDir()
			undisturbed.world(t).owe("run", path == core.ByFallback)
			points := turnKill(t, undisturbed, all)
			if len(points) < 7 {
				t.Fatalf("the child stops at %q alone", points)
			}
			for i := range points {
				killed++
				t.Run(fmt.Sprintf("%s/%s/%d/%s", path, appending, i+1, points[i]), func(t *testing.T) {
					t.Parallel()
					job := job
					job.Dir = t.TempDir()
					playTurnKills(t, job, i+1)
				})
			}
		}
	}
	t.Logf("%d points", killed)
}

// playTurnKills kills a first process at its nth point, and a second one at another.
func playTurnKills(t *testing.T, job turnJob, n int) {
	w := job.world(t)
	intent := w.owe("run", job.Path == core.ByFallback)
	turnKill(t, job, n)
	if have := w.session.Messages(intent); have > 1 {
		t.Fatalf("%d messages name the intent", have)
	}
	job.First, job.After = false, 2*turnInterval
	points := turnKill(t, job, 1+(5*n)%13)
	if have := w.session.Messages(intent); have > 1 {
		t.Fatalf("%d messages name the intent after %q", have, points)
	}
	// The last one starts when the second would have ended at the latest.
	w.clock.Advance(2*turnInterval + 3*turnLease/2)
	w.restart()
	script := turnScript{turnDelivery: turnDelivery{path: job.Path}, runID: "run", passes: int(turnLease/turnInterval) + 1, every: turnInterval}
	w.must(script.play(w.host, func() bool { return w.intent(intent).Resolution != nil }))
	w.messages(intent, 1)
	w.tick()
	w.resolved(intent, job.Path)
	w.messages(intent, 1)
}
