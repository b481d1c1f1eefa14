package mutant

// equivalentSQL are the mutants of statements that no behaviour can tell, and why.
var equivalentSQL = map[string]string{
	// The statement asks twice.
	"IntentClaimEligible/where_2":         "the subselect asks for the same, in the same statement",
	"NotificationClaimPending/where_2":    "the subselect asks for the same, in the same statement",
	"RunFindContinuation/where_2":         isEqual,
	"RunFindReservation/where_2":          isEqual,
	"RunListRecoverableOfSession/where_2": isEqual,
	"RunResumeParked/where_6":             isEqual,
	"RunCancel/second_1":                  "a run without a session is compared with a session that is not empty, and neither '' nor NULL equals it",

	// Another statement of the same write transaction asked before.
	"IntentUpdateFacts/where_2":        "its callers have just read the intent as pending, under the write lock",
	"RunRequeueExpired/or_1":           historyAsked,
	"RunRequeueExpired/or_2":           historyAsked,
	"RunRequeueExpired/where_6":        historyAsked,
	"RunRequeueExpired/where_7":        historyAsked,
	"RunRequeueExpired/border_2":       historyAsked,
	"RunLastFinishedOfSession/where_2": "a run that has not ended is live or parked, and is shown before this is asked",

	// The layout allows no other row.
	"NotificationClaimPending/where_5":    "the CHECK of the table refuses any other kind, whoever writes",
	"RunListRecoverableOfSession/limit_1": oneLiveRun,
	"RunListRecoverableOfSession/order_1": oneLiveRun,
	"RunListRecoverableOfSession/order_2": oneLiveRun,

	// Who reads takes the first row, or SQLite gives this order by itself.
	"RunFindClaimed/limit_1":           firstRow,
	"RunLastFinishedOfSession/limit_1": firstRow,
	"RunNewestParkedOfSession/limit_1": firstRow,
	"RunPickOwnerless/limit_1":         firstRow,
	"RunPickOwnerless/order_2":         "the rows come from a subselect in this order, and SQLite's sorter leaves equal rows in it",
	"IntentList/order_1":               "no index can serve the filters, so the table is walked by rowid",
	"RunEventList/order_1":             "seq is the rowid, by which the table is walked",
	"RunEventListOfRun/order_1":        "seq is the rowid, by which the index run_events_run orders equal runs",
}

// equivalentLayout are those of the layout.
var equivalentLayout = map[string]string{
	"workflow_run_queue_session_reservation/where_1": manyNulls,
	"workflow_run_queue_parent/where_1":              manyNulls,
	"workflow_turn_intents_pending_run/where_1":      onlyCost,
	"workflow_turn_intents_eligible_session/where_1": onlyCost,
	"workflow_turn_intents_eligible_session/where_2": onlyCost,
	"workflow_notifications_pending/where_1":         onlyCost,
	"events_resource/border_1":                       onlyCost,
}

// equivalentGuards are those of the coordinators, the recovery and the policy.
var equivalentGuards = map[string]string{
	"launch_result/recorded_1":       "an answer has no error, so there is none to try again",
	"turns_abort/recordOpen_1":       "an answer has no error, so there is none to try again",
	"launch_result/recovered_1":      "a failure that came late is recovered as failed, never as running",
	"launch_result/changed_1":        "no other operation answers source_changed",
	"launch_result/lapsedRun_1":      "no other refusal shows a running run of this runner",
	"launch_result/lapsedRun_4":      "takeOverExpiredRun does not answer claim_lost",
	"recover/claimed_2":              "no other finding leaves a token on the run",
	"turns_abort/noteAnswer_1":       "a refusal has no answer that could be read",
	"turns_abort/settledLater_2":     "a settled abort takes nothing from the answer that it still waits for",
	"recover/codeless_1":             "a run that is done or cancelled stores no code and no message",
	"turns_next/closed_1":            "a delivery of a closed coordinator is released before this",
	"turns_next/maySend_3":           "a closed coordinator comes to no claim and no send: it waits or releases before",
	"turns_next/idleFor_1":           "it is asked of an idle session alone, which is idle since some time",
	"turns_result/claimRefused_1":    "a claim is asked for where the pass is not blocked, and until it is answered nothing blocks it",
	"turns_result/looksAfterClaim_1": "a claim is asked for without a delivery, and who drops one forgets that it looked",
	"launch_result/stopped_2":        "a claim is regained under the stop of a lost claim alone: each other stop forgets it",
}

const (
	isEqual      = "what equals a text is not NULL; the term lets the partial index serve"
	historyAsked = "RunEventLaunchHistory has the same terms, and the launch is failed where they hold, under the same write lock"
	oneLiveRun   = "the unique index workflow_run_queue_session_reservation leaves one row at most"
	manyNulls    = "a unique index takes any number of NULLs, with the term or without"
	onlyCost     = "an index that is not unique refuses no row, and each list says its order: it changes the cost alone"
	firstRow     = "its caller reads one row, and closes the query"
)
