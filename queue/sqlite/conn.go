package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/mattn/go-sqlite3"
)

// conn is one connection, for one user at a time. It speaks to the driver
// without database/sql, whose pool would decide which statement runs on which
// connection, and whose transactions take it for granted that they still stand.
// Prepared statements are cached by their text: what a text is made of is
// constant, and values are arguments.
type conn struct {
	c *sqlite3.SQLiteConn
}

// openConn connects by a string of dsn.go.
func openConn(name string) (*conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(name)
	if err != nil {
		return nil, explain(err)
	}
	return &conn{c: c.(*sqlite3.SQLiteConn)}, nil
}

func (c *conn) close() error { return c.c.Close() }

// inTransaction asks SQLite itself: some errors roll the whole transaction back
// (https://www.sqlite.org/lang_transaction.html, section 3.1).
func (c *conn) inTransaction() bool { return !c.c.AutoCommit() }

// exec runs one statement to its end and says how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	return c.execIn(context.Background(), query, args...)
}

// execIn is exec that ends with ctx. What becomes of a transaction then is not
// known.
func (c *conn) execIn(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := c.c.ExecContext(ctx, steady(query), named(args))
	if err != nil {
		return 0, explain(err)
	}
	return r.RowsAffected()
}

// script runs several statements without arguments.
func (c *conn) script(text string) error { return c.scriptIn(context.Background(), text) }

// scriptIn is script that ends with ctx. What becomes of a transaction then is not
// known.
func (c *conn) scriptIn(ctx context.Context, text string) error {
	_, err := c.c.ExecContext(ctx, text, nil)
	if err != nil {
		return explain(err)
	}
	return nil
}

// each calls f for every row of the answer, until f fails. f must not use the
// connection for the same query text.
func (c *conn) each(ctx context.Context, query string, args []any, f func(row) error) (err error) {
	rows, err := c.c.QueryContext(ctx, steady(query), named(args))
	if err != nil {
		return explain(err)
	}
	defer func() {
		// Closing a statement that failed reports its error again.
		if e := rows.Close(); err == nil && e != nil {
			err = explain(e)
		}
	}()
	r := make(row, len(rows.Columns()))
	for {
		switch err := rows.Next(r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return explain(err)
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// one calls f for the first row, if there is one, and says whether there was.
func (c *conn) one(ctx context.Context, query string, args []any, f func(row) error) (found bool, err error) {
	err = c.each(ctx, query, args, func(r row) error {
		found = true
		if err := f(r); err != nil {
			return err
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// errEnough ends each from inside.
var errEnough = errors.New("enough rows")

// number is the one integer of a query's first row; 0 without a row or for NULL.
func (c *conn) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	_, err = c.one(ctx, query, args, func(r row) error {
		n = r.int(0)
		return nil
	})
	return n, err
}

// named gives arguments their positions. Integers of every width become the
// driver's own.
func named(args []any) []driver.NamedValue {
	list := make([]driver.NamedValue, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case code:
			a = int64(v)
		case nil, int64, string, []byte, bool:
		default:
			panic(fmt.Sprintf("sqlite: argument %d is a %T", i+1, a))
		}
		list[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return list
}

// row is one row of an answer: int64, string, []byte or nil. The byte slices are
// copies that whoever reads them may keep.
type row []driver.Value

// int reads column i; NULL is 0.
func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

// text reads column i; NULL is empty.
func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

// blob reads column i; NULL is nil.
func (r row) blob(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) null(i int) bool { return r[i] == nil }

// orNull stores an empty text as NULL.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
