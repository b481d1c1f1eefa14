package face

import (
	"context"
	"errors"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/layout"
	wfsql "github.com/pi-workflows/wfcore/sql"
	"github.com/pi-workflows/wfcore/wasm/hostsql"
)

// Connection says whose the connection is.
type Connection string

const (
	// Own was opened for this store: its pragmas are set and read back.
	Own Connection = "own"
	// Lent is the host's: wrong pragmas are named, and left alone.
	Lent Connection = "lent"
	// Look is for a look at what stands, before anything is written. No store is opened.
	Look Connection = "look"
)

// OpenRequest is what open takes.
type OpenRequest struct {
	Connection Connection `json:"connection"`
	ReadOnly   bool       `json:"readOnly"`
	// TestClock permits `now` in requests.
	TestClock bool `json:"testClock"`
}

// OpenResponse is what open answers.
type OpenResponse struct {
	// Layout is what stood there: new, noIntents or current.
	Layout        string `json:"layout"`
	SQLiteVersion string `json:"sqliteVersion"`
	// Warnings are what is advised and not so.
	Warnings []Warning `json:"warnings"`
}

// Warning is advice, known by its code.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

var layoutNames = map[layout.State]string{layout.New: "new", layout.NoIntents: "noIntents", layout.Current: "current"}

func (f *Face) open(ctx context.Context, request []byte) ([]byte, error) {
	var req OpenRequest
	if err := decode(request, &req); err != nil {
		return nil, err
	}
	if req.Connection != Own && req.Connection != Lent && req.Connection != Look {
		return nil, core.NewError(core.CodeBadRequest, core.Details{"field": "connection"}, "connection must be own, lent or look")
	}
	f.store = nil
	var answer OpenResponse
	err := f.waiting(hostsql.WaitNormal)(ctx, func() (err error) {
		answer, err = f.prepare(ctx, req)
		return err
	})
	if err != nil {
		return nil, openError(err)
	}
	if req.Connection != Look {
		f.store = core.New(core.Config{
			Conn: f.sql, Wait: f.waiting(hostsql.WaitNormal), WaitBeforeAbort: f.waiting(hostsql.WaitBeforeAbort),
			ResultCode: resultCode, Now: f.now, Random: f.random, ReadOnly: req.ReadOnly, TestClock: req.TestClock,
		})
	}
	return core.Encode(answer)
}

// prepare checks what stands before anything is written, then the pragmas, and makes
// what is missing.
func (f *Face) prepare(ctx context.Context, req OpenRequest) (OpenResponse, error) {
	state, err := core.CheckLayout(ctx, f.sql)
	if err != nil {
		return OpenResponse{}, err
	}
	answer := OpenResponse{Layout: layoutNames[state], Warnings: []Warning{}}
	if err := f.sql.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&answer.SQLiteVersion); err != nil {
		return answer, err
	}
	if losesWrites(answer.SQLiteVersion) {
		answer.Warnings = append(answer.Warnings, Warning{"wal_reset", "SQLite " + answer.SQLiteVersion +
			" can damage a WAL file in a rare race; use 3.51.3, 3.50.7, 3.44.6 or later"})
	}
	if req.Connection == Look {
		return answer, nil
	}
	memory, err := f.inMemory(ctx)
	if err != nil {
		return answer, err
	}
	if req.ReadOnly && !memory && state == layout.NoIntents {
		if err := f.exec(ctx, wfsql.TempIntents()); err != nil {
			return answer, err
		}
	}
	if err := f.pragmas(ctx, req, memory, &answer); err != nil {
		return answer, err
	}
	if state == layout.Current || req.ReadOnly && !memory {
		return answer, nil
	}
	return answer, f.makeSchema(ctx)
}

func (f *Face) pragmas(ctx context.Context, req OpenRequest, memory bool, answer *OpenResponse) error {
	wanted := core.PragmasFile
	switch {
	case memory:
		wanted = core.PragmasMemory
	case req.ReadOnly && req.Connection == Lent:
		return nil
	case req.ReadOnly:
		wanted = core.PragmasReadOnly
	}
	for _, p := range wanted {
		if err := f.pragma(ctx, p, req.Connection, answer); err != nil {
			return err
		}
	}
	return nil
}

func (f *Face) pragma(ctx context.Context, p core.Pragma, whose Connection, answer *OpenResponse) error {
	if whose == Own {
		return p.Apply(ctx, f.sql)
	}
	got, err := p.Read(ctx, f.sql)
	switch {
	case err != nil:
		return err
	case got == p.Want, p.Name == "synchronous" && got == "3": // EXTRA is more
		return nil
	case p.Name == "secure_delete":
		answer.Warnings = append(answer.Warnings, Warning{"secure_delete", "PRAGMA secure_delete is " + got +
			" on the host's connection: private input that was cleared can stay in free pages"})
		return nil
	}
	return p.Misconfigured(got)
}

// makeSchema makes what is missing, in one transaction, and checks again: another
// process may have made it meanwhile.
func (f *Face) makeSchema(ctx context.Context) error {
	if err := f.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, statement := range wfsql.Statements() {
		if err := f.exec(ctx, statement); err != nil {
			return err // which ends the call, and what it began
		}
	}
	if _, err := layout.Check(ctx, f.sql); err != nil {
		return err
	}
	return f.exec(ctx, "COMMIT")
}

func (f *Face) exec(ctx context.Context, statement string) error {
	_, err := f.sql.ExecContext(ctx, statement)
	return err
}

func (f *Face) inMemory(ctx context.Context) (memory bool, err error) {
	err = f.sql.QueryRowContext(ctx, "SELECT file = '' FROM pragma_database_list WHERE name = 'main'").Scan(&memory)
	return memory, err
}

func openError(err error) error { return core.OpenError(resultCode(err), err) }

func resultCode(err error) int {
	var e *hostsql.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
