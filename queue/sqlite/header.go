package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/b1213022/bailiff/queue"
)

// Whose a file is can be read from its first 100 bytes
// (https://www.sqlite.org/fileformat2.html#the_database_header), without SQLite,
// which would make side files beside a foreign database or roll back its journal.
// But closing any descriptor on a file drops all POSIX locks that this process
// holds on it (fcntl(2)), those of SQLite too. So a file that a Queue of this
// process has open is not looked at again: it has been found to be ours.

const (
	headerSize          = 100
	headerMagic         = "SQLite format 3\x00"
	headerUserVersion   = 60
	headerApplicationID = 68
)

// opened are the files that queues of this process have open.
var opened = openFiles{count: map[fileID]int{}, lent: map[fileID]int{}}

type openFiles struct {
	mu    sync.Mutex // held from the look at a file until a queue has it open, and while a file is made
	count map[fileID]int
	lent  map[fileID]int // read by restores, with descriptors of their own
}

// claim looks at the file and, if it is ours, opens it with open, which must
// hold a connection on it from then on. release undoes claim once all of the
// queue's connections are closed.
func (o *openFiles) claim(path string, open func() error) (release func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, err := regularFile(path)
	if err != nil {
		return nil, err
	}
	if o.lent[id] > 0 {
		return nil, fmt.Errorf("a restore reads it just now: %w", queue.ErrBusy)
	}
	if o.count[id] == 0 {
		if err := checkHeader(path); err != nil {
			return nil, err
		}
	}
	if err := open(); err != nil {
		return nil, err
	}
	// Some file systems give a file another number when it is first written to.
	if now, err := fileAt(path); err == nil {
		id = now
	}
	return o.counted(o.count, id), nil
}

// lend lets the caller open a file of ours itself, which no queue of this process
// then opens until release; one that a queue has open wraps queue.ErrConflict.
func (o *openFiles) lend(path string) (release func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, err := regularFile(path)
	if err != nil {
		return nil, err
	}
	if o.count[id] > 0 {
		return nil, errInUse
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	return o.counted(o.lent, id), nil
}

// counted counts a file in until release. The caller holds mu.
func (o *openFiles) counted(in map[fileID]int, id fileID) (release func()) {
	in[id]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if in[id]--; in[id] == 0 {
			delete(in, id)
		}
	}
}

// regularFile answers which file path is, if it is one that could be a database.
func regularFile(path string) (fileID, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fileID{}, err
	case info.IsDir():
		return fileID{}, fmt.Errorf("it is a folder: %w", queue.ErrNotOurs)
	case !info.Mode().IsRegular():
		return fileID{}, fmt.Errorf("it is no regular file: %w", queue.ErrNotOurs)
	case info.Size() == 0:
		return fileID{}, fmt.Errorf("it is empty: %w", queue.ErrNotOurs)
	}
	return identity(info), nil
}

// checkHeader refuses a file that is not ours. Commits that are only in the WAL
// are not seen; what is asked for here was in the file before it had one, but
// for a newer version, which schemaVersion asks for again.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	header := make([]byte, headerSize)
	_, err = io.ReadFull(f, header)
	if err := errors.Join(ignoreShort(err), f.Close()); err != nil {
		return err
	}
	id := binary.BigEndian.Uint32(header[headerApplicationID:])
	switch whole := err == nil && bytes.HasPrefix(header, []byte(headerMagic)); {
	case !whole && id == applicationID:
		return damaged("its beginning is lost")
	case !whole:
		return refuse("it is no SQLite database, or a damaged one")
	case id != applicationID:
		return fmt.Errorf("it is another program's database (application id %#x): %w", id, queue.ErrNotOurs)
	}
	return checkVersion(int(binary.BigEndian.Uint32(header[headerUserVersion:])))
}

func ignoreShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
