package invariant

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pi-workflows/wfcore/core"
)

// What never changes of a row, whatever its state.
var (
	runFixed = []string{
		"run_id", "workflow_ref", "workflow_path", "workflow_source_json", "definition_digest", "affinity_runner_id",
		"origin_session_id", "created_at",
	}
	intentFixed = []string{
		"intent_id", "source_event_id", "run_id", "workflow_ref", "target_session_id", "cause", "node_id", "attempt_id", "requested_at",
	}
)

// Between says what must not have happened between two looks at a store.
func Between(before, after Look) []string {
	var w wrongs
	for _, was := range before.Runs {
		is := after.Run(was["run_id"])
		w.unless(is != nil, "run %s is gone", was["run_id"])
		if is == nil {
			continue
		}
		w.unless(is.same(was, runFixed...), "run %s changed in what never changes: %v, %v", was["run_id"], was, is)
		w.unless(!core.Status(was["status"]).Terminal() || is.same(was), "run %s had ended, and changed: %v, %v", was["run_id"], was, is)
	}
	for _, was := range before.Intents {
		is := find(after.Intents, "intent_id", was["intent_id"])
		w.unless(is != nil, "intent %s is gone", was["intent_id"])
		if is == nil {
			continue
		}
		w.unless(is.same(was, intentFixed...), "intent %s changed in what never changes: %v, %v", was["intent_id"], was, is)
		w.unless(!was.has("eligible_at") || is.same(was, "eligible_at"), "intent %s became eligible again", was["intent_id"])
		w.unless(!was.has("resolved_at") || is.same(was), "intent %s was resolved, and changed: %v, %v", was["intent_id"], was, is)
	}
	for i, was := range before.Events {
		w.unless(i < len(after.Events) && after.Events[i].same(was), "event %s changed or is gone", was["seq"])
	}
	return w
}

// Unchanged says what differs between two looks, where nothing may.
func Unchanged(before, after Look) []string {
	if was, is := before.String(), after.String(); was != is {
		return []string{fmt.Sprintf("the store changed from\n%sto\n%s", was, is)}
	}
	return nil
}

// Watch looks at a store again and again.
type Watch struct {
	// Acknowledged are the runs of which a caller was told that they are queued.
	Acknowledged []string
	last         Look
}

// Look checks the store as it is now, and against all that was seen before.
func (w *Watch) Look(now Look) []string {
	wrong := append(Check(now), Between(w.last, now)...)
	for _, runID := range w.Acknowledged {
		if now.Run(runID) == nil {
			wrong = append(wrong, "the acknowledged run "+runID+" is gone")
		}
	}
	w.last = now
	return wrong
}

// Absent says in which files of a directory a text is found.
func Absent(dir, text string) (wrong []string, err error) {
	err = files(dir, func(path string, _ fs.FileInfo) error {
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			wrong = append(wrong, "the private text is in "+path)
		}
		return err
	})
	return wrong, err
}

// Private says which files of a store others may read or write.
func Private(path string) (wrong []string, err error) {
	err = files(filepath.Dir(path), func(file string, info fs.FileInfo) error {
		if strings.HasPrefix(file, path) && info.Mode().Perm() != 0o600 {
			wrong = append(wrong, fmt.Sprintf("%s has mode %o", file, info.Mode().Perm()))
		}
		return nil
	})
	return wrong, err
}

func files(dir string, each func(path string, info fs.FileInfo) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if os.IsNotExist(err) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil {
			err = each(filepath.Join(dir, entry.Name()), info)
		}
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
