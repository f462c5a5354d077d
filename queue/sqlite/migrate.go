package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/b1213022/bailiff/queue"
)

// applicationID marks a file as ours, in its header: "bali" as a number
// (https://www.sqlite.org/pragma.html#pragma_application_id).
const applicationID = 0x62616c69

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the steps from an empty file to the present schema. The number
// of steps made is the file's user_version.
var migrations = sync.OnceValue(func() []string {
	names, err := fs.Glob(migrationFiles, "migration/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	steps := make([]string, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		steps[i] = string(text)
	}
	return steps
})

// schemaVersion answers the file's user_version. A newer one than this program
// knows wraps queue.ErrNotOurs.
func schemaVersion(c *conn) (int, error) {
	v, err := c.number(context.Background(), `PRAGMA user_version`)
	if err != nil {
		return 0, err
	}
	return int(v), checkVersion(int(v))
}

// errNewer: a newer bailiff wrote the database.
var errNewer = fmt.Errorf("a newer schema: %w", queue.ErrNotOurs)

func checkVersion(v int) error {
	if known := len(migrations()); v > known {
		return refuseAs(errNewer, "its schema has version %d, this program knows %d: a newer bailiff wrote it", v, known)
	}
	return nil
}

// migrate makes what is missing of the schema, in one transaction: all of it is
// there afterwards or nothing has changed. Before it begins, and nobody else can
// write any more, it asks before, with the version that it found. A schema that is
// up to date is left alone. It ends with ctx.
func migrate(ctx context.Context, c *conn, before func(version int) error) error {
	return migrateBy(ctx, c, before, (*conn).commit)
}

// commit is how a transaction ends.
func (c *conn) commit() error { return c.script(`COMMIT`) }

// migrateBy is migrate with a COMMIT of the caller's.
func migrateBy(ctx context.Context, c *conn, before func(version int) error, commit func(*conn) error) (err error) {
	// The steps make tables anew that others refer to. Inside a transaction this
	// setting does nothing (https://www.sqlite.org/foreignkeys.html#fk_enable).
	if err := c.script(`PRAGMA foreign_keys = OFF`); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.script(`PRAGMA foreign_keys = ON`)) }()
	if err := patiently(ctx, func() error { return c.script(`BEGIN IMMEDIATE`) }); err != nil {
		return err
	}
	defer func() {
		if c.inTransaction() {
			err = errors.Join(err, c.script(`ROLLBACK`))
		}
	}()
	version, err := schemaVersion(c)
	if err != nil || version == len(migrations()) {
		return err
	}
	if err := before(version); err != nil {
		return err
	}
	err = steps(ctx, c, version)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // an interrupted statement knows no more than that
	case err != nil:
		return err
	}
	return commit(c)
}

// steps makes those after version.
func steps(ctx context.Context, c *conn, version int) error {
	for i, text := range migrations()[version:] {
		// One by one: the driver may lose the end of ctx that comes between two.
		for _, statement := range strings.SplitAfter(text, ";\n") {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := c.scriptIn(ctx, statement); err != nil {
				return fmt.Errorf("migration %d: %w", version+i+1, err)
			}
		}
	}
	if err := checkReferences(ctx, c); err != nil {
		return err
	}
	return c.script(fmt.Sprintf(`PRAGMA user_version = %d`, len(migrations())))
}

// checkReferences refuses rows that refer to others that are not there.
func checkReferences(ctx context.Context, c *conn) error {
	_, err := c.one(ctx, `PRAGMA foreign_key_check`, nil, func(r row) error {
		return damaged("a row of %s refers to one of %s that is not there", r.text(0), r.text(2))
	})
	return err
}
