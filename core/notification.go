package core

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/pi-workflows/wfcore/db"
)

// NotificationKind says what a notification reports.
type NotificationKind string

const (
	NotifyProgress NotificationKind = "progress"
	NotifyFinal    NotificationKind = "final"
)

// Notification is a passive report of a workflow: it starts no turn.
type Notification struct {
	NotificationID    string           `json:"notificationId"`
	RunID             string           `json:"runId"`
	NodeID            string           `json:"nodeId"`
	AttemptID         string           `json:"attemptId"`
	NotificationIndex int64            `json:"notificationIndex"`
	TargetSessionID   string           `json:"targetSessionId"`
	Kind              NotificationKind `json:"kind"`
	Content           string           `json:"content"`
	CreatedAt         string           `json:"createdAt"`
	// ClaimToken is returned by the op that set it alone.
	ClaimToken             string  `json:"claimToken,omitempty"`
	DeliveryClaimExpiresAt *string `json:"deliveryClaimExpiresAt"`
	DeliveredAt            *string `json:"deliveredAt"`
}

func notificationOf(row db.Notification) Notification {
	return Notification{
		row.NotificationID, row.RunID, row.NodeID, row.AttemptID, indexOf(row), row.TargetSessionID,
		NotificationKind(row.Kind), row.Content, readTime(row.CreatedAt), "",
		leaseTime(row.DeliveryClaimExpiresAt), readTimePtr(row.DeliveredAt),
	}
}

// indexOf is 0 where another host stored what is no number.
func indexOf(row db.Notification) int64 {
	index, _ := number(row.NotificationIndex)
	return index
}

// EnqueueNotificationRequest is a report of a node, the index-th of it.
type EnqueueNotificationRequest struct {
	RunID             string           `json:"runId" check:"known"`
	NodeID            string           `json:"nodeId" check:"key"`
	AttemptID         string           `json:"attemptId" check:"key"`
	NotificationIndex int64            `json:"notificationIndex" check:"index"`
	TargetSessionID   string           `json:"targetSessionId" check:"key"`
	Kind              NotificationKind `json:"kind" check:"report"`
	// Content is the workflow's text, at most 64 KiB.
	Content string `json:"content" check:"content"`
}

// EnqueueWorkflowNotification stores a report, once: the same run, node and index
// return the stored one as it stands. See docs/turns.md#notifications.
func (s *Store) EnqueueWorkflowNotification(ctx context.Context, req EnqueueNotificationRequest) (Notification, error) {
	if err := check(&req); err != nil {
		return Notification{}, err
	}
	index := strconv.FormatInt(req.NotificationIndex, 10)
	return answer(ctx, s.write, func(t *tx) (Notification, error) {
		row, ok, err := noRow(t.NotificationEnqueue(t, db.NotificationEnqueueParams{
			NotificationID: digest("notification:", req.RunID, req.NodeID, index),
			RunID:          req.RunID, NodeID: req.NodeID, AttemptID: req.AttemptID, NotificationIndex: req.NotificationIndex,
			TargetSessionID: req.TargetSessionID, Kind: string(req.Kind), Content: req.Content, Now: t.now,
		}))
		if err == nil && !ok {
			row, err = t.NotificationFind(t, db.NotificationFindParams{
				RunID: req.RunID, NodeID: req.NodeID, NotificationIndex: req.NotificationIndex,
			})
		}
		return notificationOf(row), err
	})
}

// ClaimPendingWorkflowNotifications claims the session's reports that are not
// delivered and that nobody holds, oldest first. Repeating it with the same live
// token returns what the token holds. See docs/turns.md#notifications.
func (s *Store) ClaimPendingWorkflowNotifications(ctx context.Context, req ClaimEligibleRequest) ([]Notification, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.write, func(t *tx) ([]Notification, error) {
		rows, err := t.claimNotifications(req)
		slices.SortFunc(rows, func(a, b db.Notification) int { // RETURNING has no order
			return cmp.Or(compareTimes(a.CreatedAt, b.CreatedAt), cmp.Compare(indexOf(a), indexOf(b)), cmp.Compare(a.NotificationID, b.NotificationID))
		})
		claimed := make([]Notification, len(rows))
		for i, row := range rows {
			claimed[i] = notificationOf(row)
			claimed[i].ClaimToken = text(row.DeliveryClaimToken)
		}
		return claimed, err
	})
}

func (t *tx) claimNotifications(req ClaimEligibleRequest) ([]db.Notification, error) {
	held := func() ([]db.Notification, error) {
		return t.NotificationFindClaimed(t, db.NotificationFindClaimedParams{
			SessionID: req.SessionID, ClaimToken: req.ClaimToken, NowMS: t.nowMS, Limit: req.Limit,
		})
	}
	return claimOrHeld(t, req, held, func(c claim) ([]db.Notification, error) {
		return t.NotificationClaimPending(t, db.NotificationClaimPendingParams{
			SessionID: req.SessionID, ClaimToken: c.token, ClaimExpiresAt: c.expiresMS, NowMS: t.nowMS, Limit: req.Limit,
		})
	})
}

// HoldNotificationRequest names a claim on a report that the caller holds.
type HoldNotificationRequest struct {
	NotificationID string `json:"notificationId" check:"known"`
	ClaimToken     string `json:"claimToken" check:"key"`
}

// MarkWorkflowNotificationDelivered records that the session shows the report.
// Errors: not_found, intent_resolved where it was delivered, claim_lost.
// See docs/turns.md#notifications.
func (s *Store) MarkWorkflowNotificationDelivered(ctx context.Context, req HoldNotificationRequest) (Notification, error) {
	if err := check(&req); err != nil {
		return Notification{}, err
	}
	return answer(ctx, s.write, func(t *tx) (Notification, error) {
		row, ok, err := noRow(t.NotificationMarkDelivered(t, db.NotificationMarkDeliveredParams{
			NotificationID: req.NotificationID, ClaimToken: req.ClaimToken, NowMS: t.nowMS, Now: t.now,
		}))
		if err == nil && !ok {
			err = t.notDelivered(req.NotificationID)
		}
		return notificationOf(row), err
	})
}

func (t *tx) notDelivered(id string) error {
	row, ok, err := noRow(t.NotificationGet(t, db.NotificationGetParams{NotificationID: id}))
	details := Details{"notificationId": id, "deliveredAt": text(readTimePtr(row.DeliveredAt))}
	switch {
	case err != nil:
		return err
	case !ok:
		return NewError(CodeNotFound, Details{"notificationId": id}, "there is no notification %s", id)
	case row.DeliveredAt != nil:
		return NewError(CodeIntentResolved, details, "notification %s was delivered", id)
	}
	details["claimExpiresAt"] = text(leaseTime(row.DeliveryClaimExpiresAt))
	return NewError(CodeClaimLost, details, "the claim token is not the live one of notification %s", id)
}

// ListNotificationsRequest asks for the reports of a run.
type ListNotificationsRequest struct {
	RunID string `json:"runId" check:"known"`
	// Skip continues a list after that many.
	Skip  int64 `json:"skip,omitempty" check:"skip"`
	Limit int64 `json:"limit" check:"limit"`
}

// ListWorkflowNotifications lists the reports of a run, oldest first by insertion.
// See docs/turns.md#notifications.
func (s *Store) ListWorkflowNotifications(ctx context.Context, req ListNotificationsRequest) ([]Notification, error) {
	if err := check(&req); err != nil {
		return nil, err
	}
	return answer(ctx, s.read, func(t *tx) ([]Notification, error) {
		rows, err := t.NotificationListOfRun(t, db.NotificationListOfRunParams{RunID: req.RunID, Skip: req.Skip, Limit: req.Limit})
		listed := make([]Notification, len(rows))
		for i, row := range rows {
			listed[i] = notificationOf(row)
		}
		return listed, err
	})
}
