package sqlite

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// transaction is a view that writes: one immediate transaction of the writer,
// shared by the requests of a commit.
type transaction struct {
	view
	w      *writer
	writes int64           // rows changed so far
	counts map[place]int64 // changes of the table counts, written at the end

	read                 int  // bytes of the payloads of the jobs claimed so far
	promotions           int  // jobs that may still be promoted beyond what is asked for
	expired, moreExpired bool // whether expire has run, and stopped at its bound

	mark, markBefore int64 // of commit_mark
}

// place is where a job is counted.
type place struct {
	kind  int64
	state code
}

func (w *writer) begin() *transaction {
	return &transaction{
		view:   w.q.view(context.Background(), w.c),
		w:      w,
		counts: make(map[place]int64),

		promotions: promoteBound,
	}
}

// exec is conn.exec, counted.
func (t *transaction) exec(query string, args ...any) (int64, error) {
	n, err := t.conn.exec(query, args...)
	t.writes += n
	return n, err
}

// insert runs an INSERT of one row and answers its rowid.
func (t *transaction) insert(query string, args ...any) (int64, error) {
	r, err := t.conn.c.ExecContext(context.Background(), steady(query), named(args))
	if err != nil {
		return 0, explain(err)
	}
	t.writes++
	return r.LastInsertId()
}

const (
	selectMark = `SELECT nonce FROM commit_mark WHERE slot = ?`
	upsertMark = `INSERT INTO commit_mark (slot, nonce) VALUES (?, ?)
		ON CONFLICT (slot) DO UPDATE SET nonce = excluded.nonce`
)

// newMark is a number that no commit had before.
func newMark() int64 { return 1 + rand.Int64N(1<<62) }

// seal writes what belongs to the commit as a whole. A transaction that wrote
// nothing stays so.
func (t *transaction) seal(slot int64) (err error) {
	if t.writes == 0 {
		return nil
	}
	if err := t.countAll(); err != nil {
		return err
	}
	if t.markBefore, err = t.number(selectMark, slot); err != nil {
		return err
	}
	t.mark = newMark()
	_, err = t.exec(upsertMark, slot, t.mark)
	return err
}

// names remembers the numbers of names that stand in the file. They are never
// removed from it, so what was read once stays true; what a rolled back
// transaction had added is forgotten with it.
type names struct {
	kinds, workers, handlers map[string]int64
}

func newNames() *names {
	return &names{kinds: map[string]int64{}, workers: map[string]int64{}, handlers: map[string]int64{}}
}

// kind is the number of a kind, made if it is new.
func (t *transaction) kind(name string) (int64, error) {
	return t.intern(t.w.names.kinds, name, name,
		`SELECT id FROM kinds WHERE name = ?`, `INSERT INTO kinds (name) VALUES (?)`)
}

// worker is the number of a worker, made if it is new.
func (t *transaction) worker(name string) (int64, error) {
	return t.intern(t.w.names.workers, name, name,
		`SELECT id FROM workers WHERE name = ?`, `INSERT INTO workers (name) VALUES (?)`)
}

// handler is the number of a handler's file by its digest in hex, made if it is
// new; 0 for none.
func (t *transaction) handler(digest string) (int64, error) {
	if digest == "" {
		return 0, nil
	}
	sum, err := hex.DecodeString(digest)
	if err != nil {
		return 0, fmt.Errorf("handler digest: %w", err)
	}
	return t.intern(t.w.names.handlers, digest, sum,
		`SELECT id FROM handler_files WHERE digest = ?`, `INSERT INTO handler_files (digest) VALUES (?)`)
}

// intern is the number of a name that the file holds as value.
func (t *transaction) intern(known map[string]int64, name string, value any, find, add string) (int64, error) {
	if id, ok := known[name]; ok {
		return id, nil
	}
	id, err := t.number(find, value)
	if err == nil && id == 0 {
		id, err = t.insert(add, value)
	}
	if err == nil {
		known[name] = id
	}
	return id, err
}
