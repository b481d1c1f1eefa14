package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/safetext"
)

// printer writes data to stdout, as a table or as one line of JSON.
type printer struct {
	w      io.Writer
	json   bool
	colour bool
}

func (p printer) encode(value any) error {
	encoded, err := core.Encode(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s\n", encoded)
	return err
}

// show writes value as JSON, or else the text.
func (p printer) show(value any, text string) error {
	if p.json {
		return p.encode(value)
	}
	_, err := fmt.Fprintln(p.w, text)
	return err
}

var colours = map[string]string{
	"queued": "36", "starting": "36", "running": "34", "parked": "33", "done": "32", "cancelled": "33",
	"failed": "31", "launch_failed": "31", "turn owed": "35", "turn eligible": "35", "turn given": "32",
}

// table writes rows under a header. The cell of a state or an event is coloured
// on a terminal. Cells of other hosts may hold anything, so each is made plain.
func (p printer) table(header []string, rows [][]string) error {
	widths := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for _, row := range all {
		for i := range row {
			row[i] = safetext.Plain(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range all {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			line += p.paint(cell) + pad
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p printer) paint(cell string) string {
	if code, ok := colours[cell]; ok && p.colour {
		return "\x1b[" + code + "m" + cell + "\x1b[0m"
	}
	return cell
}

func (p printer) runs(runs []core.Run) error {
	if p.json {
		return p.encode(runs)
	}
	rows := [][]string{}
	for _, r := range runs {
		rows = append(rows, []string{r.RunID, r.WorkflowName, string(r.Status), orDash(r.OriginSessionID), r.CreatedAt, reason(r)})
	}
	return p.table([]string{"RUN", "WORKFLOW", "STATUS", "SESSION", "CREATED", "ERROR"}, rows)
}

func (p printer) events(events []core.Event) error {
	if p.json {
		return p.encode(events)
	}
	rows := [][]string{}
	for _, e := range events {
		rows = append(rows, []string{fmt.Sprint(e.Seq), e.RecordedAt, e.RunID, e.Type, orDash(e.RunnerID), string(e.Payload)})
	}
	return p.table([]string{"SEQ", "TIME", "RUN", "EVENT", "RUNNER", "PAYLOAD"}, rows)
}

func reason(r core.Run) string {
	if r.ErrorCode == nil {
		return "-"
	}
	return *r.ErrorCode
}

func orDash[T ~string](s *T) string {
	if s == nil {
		return "-"
	}
	return string(*s)
}
