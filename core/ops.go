package core

import (
	"context"
	"reflect"
)

// Op is one operation, declared once for every face: `wfcore rpc`, `wfcore call`
// and hosts in other languages are served from this table.
type Op struct {
	Name string
	// Doc is one sentence.
	Doc string
	// ReadOnly says that the op writes nothing.
	ReadOnly bool
	// Errors are the codes it can answer beside bad_request and those of the store.
	Errors []Code
	// Request and Response are the types of both.
	Request, Response reflect.Type
	call              func(ctx context.Context, s *Store, params []byte) (any, error)
}

// Ops is the op table, in the order of a run's life.
var Ops = []Op{
	read("newRunId", "make a run id for a workflow name; stores nothing",
		(*Store).NewRunID),
	write("reservePreparedRun", "store a queued run and reserve its session",
		(*Store).ReservePreparedRun, CodeRunConflict, CodeSessionReserved, CodeParentReserved),
	write("claimPreparedRun", "queued to starting, under a new claim",
		(*Store).ClaimPreparedRun, CodeNotFound, CodeNotOwner, CodeInvalidTransition),
	write("claimNextRun", "claim the next queued run of a session, or of none",
		(*Store).ClaimNextRun),
	write("markPreparedRunRunning", "starting to running: the final fence before the first node",
		(*Store).MarkPreparedRunRunning, CodeNotFound, CodeInvalidTransition, CodeSourceChanged, CodeClaimLost),
	write("failPreparedRun", "starting to failed, with a safe error",
		(*Store).FailPreparedRun, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	write("cancelPreparedRun", "cancel a run that has not ended",
		(*Store).CancelPreparedRun, CodeNotFound, CodeNotOwner, CodeInvalidTransition, CodeClaimLost),
	write("parkRunningRun", "set a waiting run aside and free its session",
		(*Store).ParkRunningRun, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	write("resumeParkedRun", "parked to starting, under a new claim",
		(*Store).ResumeParkedRun, CodeNotFound, CodeNotOwner, CodeInvalidTransition, CodeSessionReserved),
	write("finishRunningRun", "running to done, or to failed with a safe error",
		(*Store).FinishRunningRun, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	write("renewRunClaim", "extend a live claim",
		(*Store).RenewRunClaim, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	read("verifyRunClaim", "read a run under a live claim",
		(*Store).VerifyRunClaim, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	write("releaseRunClaim", "let a live claim expire now, at shutdown",
		(*Store).ReleaseRunClaim, CodeNotFound, CodeInvalidTransition, CodeClaimLost),
	write("takeOverExpiredRun", "claim a running run whose lease is over",
		(*Store).TakeOverExpiredRun, CodeNotFound, CodeNotOwner, CodeInvalidTransition, CodeClaimLive),
	write("recoverExpiredStartingRun", "settle a starting run whose lease is over by what was found of it",
		(*Store).RecoverExpiredStartingRun, CodeNotFound, CodeNotOwner, CodeInvalidTransition, CodeClaimLost, CodeClaimLive),
	read("findSessionReservation", "the session's live run, or null",
		(*Store).FindSessionReservation),
	read("listRecoverableRuns", "what a session's or a detached host has to activate or recover",
		(*Store).ListRecoverableRuns, CodeNotFound, CodeNotOwner),
	read("getRun", "the status of a run, or of a session, with one line to show",
		(*Store).GetRun, CodeNotFound),
	read("listRuns", "runs, newest first",
		(*Store).ListRuns, CodeNotFound),
	write("recordRunEvent", "append a host's event to the feed of a run",
		(*Store).RecordRunEvent, CodeNotFound),
	read("listRunEvents", "the feed of a run or of all, oldest first",
		(*Store).ListRunEvents),
	write("noteTurnEvent", "apply the event policy to what stopped or stranded a turn",
		(*Store).NoteTurnEvent, CodeNotFound, CodeNotOwner, CodeInvalidTransition),
	write("sweepTurnIntents", "make the pending intents of ended runs eligible, by the policy",
		(*Store).SweepTurnIntents),
	write("ensureWorkflowTurnIntent", "store a turn that is owed, once",
		(*Store).EnsureWorkflowTurnIntent, CodeIntentConflict, CodeIntentPending),
	read("getWorkflowTurnIntent", "one intent",
		(*Store).GetWorkflowTurnIntent, CodeNotFound),
	read("findPendingWorkflowTurnIntent", "the pending intent of a run and session, or null",
		(*Store).FindPendingWorkflowTurnIntent),
	read("listWorkflowTurnIntents", "intents, oldest first",
		(*Store).ListWorkflowTurnIntents, CodeNotFound),
	write("makeWorkflowTurnIntentEligible", "let a fallback go: no natural successor will come",
		(*Store).MakeWorkflowTurnIntentEligible, CodeNotFound, CodeIntentResolved),
	write("claimWorkflowTurnIntentForRun", "claim a run's pending intent for a natural message",
		(*Store).ClaimWorkflowTurnIntentForRun, CodeClaimLive),
	write("claimEligibleWorkflowTurnIntentsForSession", "claim a session's eligible intents for fallbacks",
		(*Store).ClaimEligibleWorkflowTurnIntentsForSession),
	write("renewWorkflowTurnIntentClaim", "extend a live delivery claim; right before a send it verifies it",
		(*Store).RenewWorkflowTurnIntentClaim, CodeNotFound, CodeIntentResolved, CodeClaimLost),
	write("releaseWorkflowTurnIntentClaim", "give a live delivery claim back",
		(*Store).ReleaseWorkflowTurnIntentClaim, CodeNotFound, CodeIntentResolved, CodeClaimLost),
	write("resolveWorkflowTurnIntent", "record that the session shows the message of an intent",
		(*Store).ResolveWorkflowTurnIntent, CodeNotFound, CodeIntentResolved, CodeClaimLost),
	read("nextLaunchStep", "what a host does next to activate and recover runs; reads no data. What to tell with each thing seen, and what each step asks for: [contract.md](contract.md#activation)",
		(*Store).NextLaunchStep),
	read("nextTurnStep", "what a host does next to deliver owed turns; reads no data. What to tell with each thing seen, and what each step asks for: [turns.md](turns.md#delivery)",
		(*Store).NextTurnStep),
	write("enqueueWorkflowNotification", "store a passive report of a workflow, once",
		(*Store).EnqueueWorkflowNotification),
	write("claimPendingWorkflowNotifications", "claim a session's reports that are not delivered",
		(*Store).ClaimPendingWorkflowNotifications),
	write("markWorkflowNotificationDelivered", "record that the session shows a report",
		(*Store).MarkWorkflowNotificationDelivered, CodeNotFound, CodeIntentResolved, CodeClaimLost),
	read("listWorkflowNotifications", "the reports of a run, oldest first",
		(*Store).ListWorkflowNotifications),
}

// FindOp returns the op of a name, or nil.
func FindOp(name string) *Op {
	for i := range Ops {
		if Ops[i].Name == name {
			return &Ops[i]
		}
	}
	return nil
}

func read[Req, Resp any](name, doc string, do func(*Store, context.Context, Req) (Resp, error), errors ...Code) Op {
	op := write(name, doc, do, errors...)
	op.ReadOnly = true
	return op
}

func write[Req, Resp any](name, doc string, do func(*Store, context.Context, Req) (Resp, error), errors ...Code) Op {
	return Op{
		Name: name, Doc: doc, Errors: errors,
		Request: reflect.TypeFor[Req](), Response: reflect.TypeFor[Resp](),
		call: func(ctx context.Context, s *Store, params []byte) (any, error) {
			var req Req
			if err := bind(params, &req); err != nil {
				return nil, err
			}
			return do(s, ctx, req)
		},
	}
}
