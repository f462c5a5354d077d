package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/b1213022/bailiff/queue"
)

// SQLite notices a page that has lost its form, and no other damage: a payload or a
// state with one bit turned reads as well as before. So a snapshot carries the
// SHA-256 of its file, read with zeros where the sum itself stands, in a table that
// only snapshots have. Restore looks at it before anything else and takes the table
// out.

const (
	createSeal = `CREATE TABLE snapshot_seal (sum BLOB NOT NULL CHECK (length(sum) = 32)) STRICT`
	countSeals = `SELECT count(*) FROM sqlite_schema WHERE name = 'snapshot_seal'`
	selectSeal = `SELECT sum FROM snapshot_seal`
)

// openSeal makes room for the sum in a file that c alone has open, and marks it
// with bytes that stand nowhere else.
func openSeal(c *conn) (mark []byte, err error) {
	mark = make([]byte, sha256.Size)
	_, _ = rand.Read(mark) // never fails
	if err := c.script(createSeal); err != nil {
		return nil, err
	}
	_, err = c.exec(`INSERT INTO snapshot_seal (sum) VALUES (?)`, mark)
	return mark, err
}

// closeSeal writes the sum of the file over the mark. Nothing may change in the
// file afterwards.
func closeSeal(ctx context.Context, f *os.File, at int64) error {
	sum, err := sealSum(ctx, f, at)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(sum, at)
	return noSpace(err)
}

// checkSeal answers nil if the file that c has open, and f too, is byte for byte as
// it was sealed. Any other wraps queue.ErrDamaged.
func checkSeal(ctx context.Context, c *conn, f *os.File) error {
	var sum []byte
	if _, err := c.one(ctx, selectSeal, nil, func(r row) error {
		sum = r.blob(0)
		return nil
	}); err != nil {
		return err
	}
	at, err := sealPlace(c, f, sum)
	if err != nil {
		return err
	}
	is, err := sealSum(ctx, f, at)
	if err == nil && !bytes.Equal(is, sum) {
		err = errSeal
	}
	return err
}

var errSeal = refuseAs(queue.ErrDamaged, "it is not as it was when the snapshot was made, damaged or changed since: its checksum differs")

// ErrUnsealed: what is to be restored is a queue's own file, or a copy of one, and no
// snapshot. What was acknowledged last may never have stood in it.
var ErrUnsealed = refuse("it is no snapshot: it carries no seal, so what stood in its -wal may be missing. Nothing was made")

// sealPlace finds in the file where the row of the seal has its 32 bytes: on the one
// page of its table.
func sealPlace(c *conn, f io.ReaderAt, sum []byte) (int64, error) {
	root, err := c.number(context.Background(), `SELECT rootpage FROM sqlite_schema WHERE name = 'snapshot_seal'`)
	if err != nil {
		return 0, err
	}
	size, err := c.number(context.Background(), `PRAGMA page_size`)
	if err != nil {
		return 0, err
	}
	page := make([]byte, size)
	if _, err := f.ReadAt(page, (root-1)*size); err != nil {
		return 0, errors.Join(errSeal, err)
	}
	at := bytes.Index(page, sum)
	if at < 0 || len(sum) != sha256.Size {
		return 0, errSeal
	}
	return (root-1)*size + int64(at), nil
}

// sealSum is the SHA-256 of the file with zeros in place of the sum.
func sealSum(ctx context.Context, f io.ReaderAt, at int64) ([]byte, error) {
	h := sha256.New()
	for _, part := range []io.Reader{
		io.NewSectionReader(f, 0, at),
		bytes.NewReader(make([]byte, sha256.Size)),
		io.NewSectionReader(f, at+sha256.Size, 1<<62-at),
	} {
		if _, err := io.Copy(h, withContext(ctx, part)); err != nil {
			return nil, err
		}
	}
	return h.Sum(nil), nil
}

// contextReader ends with its context. What is read comes in pieces.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func withContext(ctx context.Context, r io.Reader) contextReader { return contextReader{ctx, r} }

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
