package hosttest

import "github.com/pi-workflows/wfcore/core"

// Bundles are the run bundles of an engine: what is left of each run, by its id.
// Processes share them.
type Bundles map[string]core.Finding

// Engine builds and runs workflows by script.
type Engine struct {
	Bundles Bundles
	// Digest is that of what it builds.
	Digest string
	// Fails, given, is why a build fails.
	Fails *core.Finding
	// WriteFails, given, is why a bundle cannot be written.
	WriteFails *core.Finding
	// Slow keeps a build going until Host.Built is called.
	Slow bool
	// Acted counts the starts of each run's nodes, which must not be before "go".
	Acted map[string]int
	// Acting are the runs that this process runs.
	Acting map[string]bool
}

// NewEngine builds a definition of this digest.
func NewEngine(digest string) *Engine {
	return &Engine{Bundles: Bundles{}, Digest: digest, Acted: map[string]int{}, Acting: map[string]bool{}}
}

// Restart is the same engine in a new process: its bundles stand.
func (e *Engine) Restart() *Engine {
	return &Engine{Bundles: e.Bundles, Digest: e.Digest, Acted: e.Acted, Acting: map[string]bool{}}
}

func (e *Engine) build(runID string) core.LaunchSeen {
	if e.Fails != nil {
		return core.LaunchSeen{Kind: core.LaunchBuildFailed, RunID: runID, Code: e.Fails.Code, Message: e.Fails.Message}
	}
	return core.LaunchSeen{Kind: core.LaunchBuilt, RunID: runID, DefinitionDigest: e.Digest}
}

func (e *Engine) writeBundle(step core.LaunchStep) core.LaunchSeen {
	if f := e.WriteFails; f != nil {
		return core.LaunchSeen{Step: step.Kind, Kind: core.LaunchBuildFailed, Code: f.Code, Message: f.Message}
	}
	e.Bundles[step.RunID] = core.Finding{Kind: core.FindingRunning}
	return core.LaunchSeen{Step: step.Kind, Kind: core.LaunchDone}
}

// inspect is what is left of a run.
func (e *Engine) inspect(runID string) *core.Finding {
	found, ok := e.Bundles[runID]
	if !ok {
		found.Kind = core.FindingNone
	}
	return &found
}
