package sqlite

import (
	"encoding/binary"

	"github.com/ncruces/go-sqlite3/vfs"
)

// systemFile is all that the system's VFS can do with a file.
type systemFile interface {
	vfs.FileLockState
	vfs.FilePersistWAL
	vfs.FilePowersafeOverwrite
	vfs.FileSizeHint
	vfs.FileHasMoved
	vfs.FileSharedMemory
	vfs.FileMemoryMapper
}

// scrubbedFile clears the unused room of each page that holds rows on its way to
// the file. secure_delete clears what is deleted, but not what SQLite leaves behind
// where it rebuilds a page whose cells have moved.
type scrubbedFile struct{ systemFile }

// An atomic batch of writes is a thing that this wrapping does not pass on.
func (f scrubbedFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.systemFile.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}

func (f scrubbedFile) WriteAt(page []byte, offset int64) (int, error) {
	if from, to := unused(page, offset); from < to {
		page = append([]byte(nil), page...)
		clear(page[from:to])
	}
	return f.systemFile.WriteAt(page, offset)
}

// unused is the room between the cell pointers and the cells of a page that holds
// rows. No other page starts with that type: an overflow or a free one starts with
// a page number, which is that large from 800 GiB on only, and a pointer map with
// a smaller type.
func unused(page []byte, offset int64) (from, to int) {
	const tableLeaf = 13
	header := 0
	if offset == 0 {
		header = 100
	}
	if len(page) < 512 || offset%int64(len(page)) != 0 || offset >= 1<<36 || page[header] != tableLeaf {
		return 0, 0
	}
	from = header + 8 + 2*int(binary.BigEndian.Uint16(page[header+3:]))
	to = int(binary.BigEndian.Uint16(page[header+5:]))
	if to == 0 {
		to = 1 << 16
	}
	if to > len(page) {
		return 0, 0
	}
	return from, to
}
