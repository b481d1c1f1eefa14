package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/pi-workflows/wfcore/core"
	"github.com/pi-workflows/wfcore/core/layout"
)

// absent is the state of a path with no file.
const absent = layout.State(-1)

// look checks an existing file before anything is written to it.
//
// Opening a WAL database makes an empty -wal beside it, even for reading. Where
// there is neither a -wal nor a journal nobody has the file open for writing, so
// it is read as immutable, which touches nothing; if someone came meanwhile, it
// is looked at again with locks.
func look(ctx context.Context, path string, wait waitTime) (layout.State, error) {
	before, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, unavailable("the store cannot be looked at", err)
	}
	if before.Size() == 0 && quiet(path) {
		return layout.New, nil
	}
	if quiet(path) {
		state, err := lookAt(ctx, fileDSN(path, immutable), wait)
		if err == nil {
			err = whole(path, before.Size())
		}
		if after, statErr := os.Stat(path); statErr == nil && quiet(path) && same(before, after) {
			return state, err
		}
	}
	state, err := lookAt(ctx, fileDSN(path, "ro"), wait)
	if own := (*core.Error)(nil); errors.As(err, &own) && resultCode(own.Unwrap()) == int(sqlite3.READONLY_ROLLBACK) {
		return lookAtCopy(ctx, path, wait)
	}
	return state, err
}

// lookAtCopy looks at what stands once the journal of a killed writer is rolled
// back, which only a writer can do: on a copy of both files.
func lookAtCopy(ctx context.Context, path string, wait waitTime) (layout.State, error) {
	dir, err := os.MkdirTemp("", "wfcore-look-")
	if err != nil {
		return absent, unavailable("the store cannot be looked at", err)
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "store")
	for _, suffix := range []string{"", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(to+suffix, data, 0o600)
		}
		if err != nil {
			return absent, unavailable("the store cannot be looked at", err)
		}
	}
	return lookAt(ctx, fileDSN(to, "rw"), wait)
}

// whole says whether the last page of a file at rest is there to its end, which
// SQLite does not ask.
func whole(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return unavailable("the store cannot be looked at", err)
	}
	defer f.Close()
	header := make([]byte, 18)
	if _, err := io.ReadFull(f, header); err != nil {
		return typed(sqlite3.NOTADB)
	}
	page := int64(binary.BigEndian.Uint16(header[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if size%page != 0 {
		return typed(sqlite3.CORRUPT)
	}
	return nil
}

// quiet says that nobody has written what is not in the file yet. A log that is empty is
// what an opening leaves for which there was no room.
func quiet(path string) bool {
	log, err := os.Lstat(path + "-wal")
	return (errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0) && missing(path+"-journal")
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func lookAt(ctx context.Context, dsn string, wait waitTime) (state layout.State, err error) {
	db, err := connect(dsn)
	if err != nil {
		return absent, typed(err)
	}
	defer db.Close()
	err = waiter(wait)(ctx, func() error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		state, err = core.CheckLayout(ctx, conn)
		return err
	})
	if err != nil {
		return absent, typed(err)
	}
	return state, nil
}
