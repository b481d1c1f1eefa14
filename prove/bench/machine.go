package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pi-workflows/wfcore/core/sqlite"
)

// machine is what the numbers depend on beside the code.
type machine struct {
	date, goVersion, sqliteVersion string
	cores                          int
	fileSystem, device             string
	fsync                          time.Duration
}

func lookAround(ctx context.Context, dir string) (m machine, err error) {
	m = machine{
		date: time.Now().UTC().Format(time.DateOnly), cores: runtime.NumCPU(),
		goVersion: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
	}
	if m.sqliteVersion, err = sqlite.Version(ctx); err != nil {
		return m, err
	}
	mounts, _ := os.ReadFile("/proc/mounts") // which other systems than Linux do not have
	m.fileSystem, m.device = mountOf(string(mounts), dir)
	m.fsync, err = fsyncTime(dir)
	return m, err
}

// mountOf finds the file system that a directory is on: the last one that was mounted
// at the longest path above it.
func mountOf(mounts, dir string) (fileSystem, device string) {
	fileSystem, device = "unknown", "unknown"
	longest := ""
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 3 || len(fields[1]) < len(longest) {
			continue
		}
		if rest, ok := strings.CutPrefix(dir, strings.TrimSuffix(fields[1], "/")); ok && (rest == "" || rest[0] == '/') {
			device, longest, fileSystem = fields[0], fields[1], fields[2]
		}
	}
	return fileSystem, device
}

// inMemory says that nothing is written to a disk there, so that FULL costs nothing.
func (m machine) inMemory() bool { return m.fileSystem == "tmpfs" || m.fileSystem == "ramfs" }

// fsyncTime is the median of a hundred writes of 4 KiB, each appended and synced.
func fsyncTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	times := []time.Duration{}
	for range 100 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(began))
	}
	return median(times), nil
}
