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
var opened = openFiles{count: map[fileID]int{}}

type openFiles struct {
	mu    sync.Mutex // held from the look at a file until a queue has it open, and while a file is made
	count map[fileID]int
}

// claim looks at the file and, if it is ours, opens it with open, which must
// hold a connection on it from then on. release undoes claim once all of the
// queue's connections are closed.
func (o *openFiles) claim(path string, open func() error) (release func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is no regular file: %w", queue.ErrNotOurs)
	case info.Size() == 0:
		return nil, fmt.Errorf("it is empty: %w", queue.ErrNotOurs)
	}
	id := identity(info)
	if o.count[id] == 0 {
		if err := checkHeader(path); err != nil {
			return nil, err
		}
	}
	if err := open(); err != nil {
		return nil, err
	}
	o.count[id]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.count[id]--; o.count[id] == 0 {
			delete(o.count, id)
		}
	}, nil
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
	if err != nil || !bytes.HasPrefix(header, []byte(headerMagic)) {
		return fmt.Errorf("it is no SQLite database, or a damaged one: %w", queue.ErrNotOurs)
	}
	if id := binary.BigEndian.Uint32(header[headerApplicationID:]); id != applicationID {
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
