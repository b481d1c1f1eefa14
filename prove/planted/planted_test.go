// Package planted plants bugs that somebody could really make, one at a time, and wants
// the suite that each names to find it: a suite that finds nothing proves nothing.
package planted

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pi-workflows/wfcore/prove"
)

// root is that of the module.
const root = "../.."

var (
	foundBy = regexp.MustCompile(`(?m)^found by: (.*)$`)
	says    = regexp.MustCompile(`(?m)^says: (.*)$`)
	changed = regexp.MustCompile(`(?m)^--- a/(.*)$`)
)

// Each bug is a patch, with what is wrong, the suite that has to find it and what that
// says above. A build of all that depends on the core comes with each, so a quick run plants one.
func TestPlantedBugsAreFound(t *testing.T) {
	patches, err := filepath.Glob("testdata/*.patch")
	must(t, err)
	if len(patches) < 10 {
		t.Fatalf("there are %d patches", len(patches))
	}
	overlays := map[string]string{}
	for _, patch := range patches {
		overlays[patch] = plant(t, patch) // each has to apply, whether it is tried or not
	}
	for _, patch := range prove.Sample(t, 1, patches) {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			text := read(t, patch)
			suite := strings.Fields(foundBy.FindStringSubmatch(text)[1])
			args := append([]string{"test", "-count=1", "-failfast", "-overlay", overlays[patch]}, suite...)
			cmd := exec.Command("go", args...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			switch {
			case strings.Contains(string(out), "[build failed]"):
				t.Fatalf("it does not build:\n%s", out)
			case err == nil:
				t.Errorf("nothing finds it: go %s", strings.Join(args, " "))
			case !strings.Contains(string(out), says.FindStringSubmatch(text)[1]):
				t.Errorf("something else is found:\n%s", out)
			}
			t.Logf("found: %s", firstLines(string(out), 6))
		})
	}
}

// plant applies a patch to copies of the files that it changes, and returns the overlay
// that puts them in place of the files.
func plant(t *testing.T, patch string) (overlay string) {
	t.Helper()
	text := read(t, patch)
	if !foundBy.MatchString(text) || !says.MatchString(text) {
		t.Fatalf("%s does not say which suite finds it, and what that says", patch)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for _, match := range changed.FindAllStringSubmatch(text, -1) {
		file := match[1]
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		write(t, filepath.Join(dir, file), read(t, filepath.Join(root, file)))
		original, err := filepath.Abs(filepath.Join(root, file))
		must(t, err)
		replace[original] = filepath.Join(dir, file)
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(text)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // no repository
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s does not apply: %v\n%s", patch, err, out)
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	write(t, overlay, string(encoded))
	return overlay
}

func firstLines(text string, n int) string {
	return strings.Join(strings.SplitN(text, "\n", n+1)[:min(n, strings.Count(text, "\n"))], "\n")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
