package hosttest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pi-workflows/wfcore/core"
)

// turnModelStore is the store as far as a delivery sees it.
type turnModelStore struct {
	model   *turnModel
	intents []*turnModelIntent
}

type turnModelIntent struct {
	core.Intent
	expires time.Time
}

func (i *turnModelIntent) live(now time.Time) bool {
	return i.Resolution == nil && i.ClaimToken != "" && i.expires.After(now)
}

func (s *turnModelStore) pending(runID string) *turnModelIntent {
	for _, i := range s.intents {
		if i.RunID == runID && i.Resolution == nil {
			return i
		}
	}
	return nil
}

func (s *turnModelStore) owe(runID string, eligible bool) {
	i := s.pending(runID)
	if i == nil {
		i = &turnModelIntent{Intent: core.Intent{IntentID: fmt.Sprint(runID, "-", len(s.intents)), RunID: runID, TargetSessionID: turnSession, FallbackFacts: json.RawMessage(`{}`)}}
		s.intents = append(s.intents, i)
	}
	if at := fmt.Sprintf("%04d", len(s.intents)); eligible && i.EligibleAt == nil {
		i.EligibleAt = &at
	}
}

// call is an op; on a faulty store it may fail, and may have happened all the same.
func (s *turnModelStore) call(op string, request json.RawMessage) (answer, problem json.RawMessage) {
	unavailable := turnModelError(core.CodeStoreUnavailable)
	if s.model.faulty && s.model.take(6) == 0 {
		return nil, unavailable
	}
	var r struct {
		RunID, IntentID, ClaimToken string
		Resolution                  core.Resolution
	}
	turnMust(s.model, json.Unmarshal(request, &r))
	answer, problem = s.run(op, r.RunID, r.IntentID, r.ClaimToken, r.Resolution)
	if s.model.faulty && s.model.take(6) == 0 {
		return nil, unavailable
	}
	return answer, problem
}

func turnModelError(code core.Code) json.RawMessage {
	text, _ := core.Encode(core.NewError(code, nil, "no"))
	return text
}

func (s *turnModelStore) run(op, runID, intentID, token string, path core.Resolution) (answer, problem json.RawMessage) {
	now := s.model.now
	give := func(v any) (json.RawMessage, json.RawMessage) {
		text, err := core.Encode(v)
		turnMust(s.model, err)
		return text, nil
	}
	claim := func(i *turnModelIntent) *core.Intent {
		i.ClaimToken, i.expires = token, now.Add(turnLease)
		return &i.Intent
	}
	switch op {
	case "noteTurnEvent":
		s.owe(runID, false)
		return give(map[string]any{"outcome": "created", "intent": s.pending(runID)})
	case "recordRunEvent", "sweepTurnIntents":
		return give([]int{})
	case "findPendingWorkflowTurnIntent":
		if i := s.pending(runID); i != nil {
			return give(i.Intent)
		}
		return give(nil)
	case "claimWorkflowTurnIntentForRun":
		i := s.pending(runID)
		switch {
		case i == nil:
			return give(nil)
		case i.live(now) && i.ClaimToken != token:
			return nil, turnModelError(core.CodeClaimLive)
		}
		return give(claim(i))
	case "claimEligibleWorkflowTurnIntentsForSession":
		var oldest *turnModelIntent
		for _, i := range s.intents {
			free := i.EligibleAt != nil && i.Resolution == nil && (!i.live(now) || i.ClaimToken == token)
			if free && (oldest == nil || *i.EligibleAt < *oldest.EligibleAt) {
				oldest = i
			}
		}
		if oldest == nil {
			return give([]int{})
		}
		return give([]*core.Intent{claim(oldest)})
	}
	at := slices.IndexFunc(s.intents, func(i *turnModelIntent) bool { return i.IntentID == intentID })
	if at < 0 {
		return nil, turnModelError(core.CodeNotFound)
	}
	i := s.intents[at]
	switch {
	case i.Resolution != nil:
		return nil, turnModelError(core.CodeIntentResolved)
	case !i.live(now) || i.ClaimToken != token:
		return nil, turnModelError(core.CodeClaimLost)
	case op == "renewWorkflowTurnIntentClaim":
		i.expires = now.Add(turnLease)
	case op == "releaseWorkflowTurnIntentClaim":
		i.ClaimToken = ""
	case op == "resolveWorkflowTurnIntent":
		i.Resolution = &path
	}
	return give(i.Intent)
}
