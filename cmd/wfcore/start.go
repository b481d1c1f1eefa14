package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/sqlite"
)

// maxMessage bounds a JSON text from outside: a request, an input, a line.
const maxMessage = 2 << 20

func (a *app) startCommand() *cobra.Command {
	var req core.ReserveRequest
	var source, digest, input, options string
	cmd := &cobra.Command{
		Use:   "start WORKFLOW --source FILE|REFERENCE",
		Short: "Queue a run durably and say its id",
		Long: `Queue a run durably and say its id. The run is stored before the answer; it
starts when a runner activates it.

--source names a file, whose SHA-256 is stored and compared again at activation, or
a reference such as builtin:monitor, of which nothing is known but its --digest.
--input is private: prefer --input - or --input @FILE to JSON on the command line,
which other users can see.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.WorkflowName = args[0]
			if err := identify(&req, source, digest); err != nil {
				return err
			}
			var err error
			if req.Input, err = a.jsonArgument(cmd.Context(), "input", input); err != nil {
				return err
			}
			if req.LaunchOptions, err = a.jsonArgument(cmd.Context(), "options", options); err != nil {
				return err
			}
			return a.with(cmd.Context(), sqlite.Options{}, func(s *sqlite.Store) error {
				return a.start(cmd, s, req)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&source, "source", "", "file or reference of the workflow (required)")
	flags.StringVar(&digest, "digest", "", "definition digest of a reference (default unavailable)")
	flags.StringVar(&input, "input", "null", "private input: JSON, @FILE, or - for stdin")
	flags.StringVar(&options, "options", "{}", "launch options: a JSON object, @FILE, or -")
	flags.StringVar(&req.RunID, "run-id", "", "id of the run (default: a new one)")
	flags.StringVar(&req.OriginSessionID, "session", "", "session that owns the run (default: ownerless)")
	flags.StringVar(&req.AffinityRunnerID, "runner", "", "runner that should activate it")
	flags.StringVar(&req.ParentRunID, "parent", "", "run that this one continues")
	return cmd
}

func (a *app) start(cmd *cobra.Command, s *sqlite.Store, req core.ReserveRequest) error {
	if req.RunID == "" {
		id, err := s.NewRunID(cmd.Context(), core.NewRunIDRequest{WorkflowName: req.WorkflowName})
		if err != nil {
			return err
		}
		req.RunID = id.RunID
	}
	answer, err := s.ReservePreparedRun(cmd.Context(), req)
	if err != nil {
		return err
	}
	return a.out.show(answer.Result, answer.Text)
}

// fileSource is the source identity of a workflow in a file.
type fileSource struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// identify fills in the immutable source of a run.
func identify(req *core.ReserveRequest, source, digest string) error {
	if source == "" {
		return usage("--source is missing: a file or a reference such as builtin:monitor")
	}
	sum, err := fileDigest(source)
	switch {
	case err == nil:
		path, err := filepath.Abs(source)
		if err != nil {
			return usage("--source %s: %v", source, err)
		}
		if digest != "" {
			return usage("--digest belongs to a reference: a file's is computed")
		}
		req.WorkflowSourceRef, req.DefinitionDigest = path, sum
		req.WorkflowSource, err = json.Marshal(fileSource{"file", path, sum})
		return err
	case !isReference(source) || !errors.Is(err, fs.ErrNotExist):
		return usage("the workflow source cannot be read: %v", err)
	}
	if digest == "" {
		digest = "unavailable"
	}
	req.WorkflowSourceRef, req.DefinitionDigest = source, digest
	req.WorkflowSource, err = json.Marshal(map[string]string{"kind": "reference", "ref": source})
	return err
}

// isReference tells scheme:rest from the name of a file. A file: URL is refused,
// since its content would not be watched.
func isReference(source string) bool {
	scheme, _, ok := strings.Cut(source, ":")
	return ok && len(scheme) > 1 && scheme != "file" && !strings.ContainsAny(scheme, "./\\ ")
}

func fileDigest(path string) (string, error) {
	// A pipe would be waited for, and is no source that stays.
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", filepath.Base(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// jsonArgument takes JSON as it is, from @FILE, or from stdin for "-".
func (a *app) jsonArgument(ctx context.Context, name, value string) ([]byte, error) {
	if value == "-" {
		return readBounded(ctx, name, a.stdin)
	}
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return []byte(value), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--%s: %v", name, err)
	}
	defer f.Close()
	return readBounded(ctx, name, f)
}

// readBounded reads all, unless the context ends first: reading may block for ever.
func readBounded(ctx context.Context, name string, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxMessage+1))
		read <- result{data, err}
	}()
	select {
	case got := <-read:
		switch {
		case got.err != nil:
			return nil, usage("%s: %v", name, got.err)
		case len(got.data) > maxMessage:
			return nil, usage("%s is longer than 2 MiB", name)
		}
		return got.data, nil
	case <-ctx.Done():
		return nil, exitError{130, "stopped"}
	}
}
