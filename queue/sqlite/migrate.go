package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/b1213022/bailiff/queue"
)

// applicationID marks a file as ours, in its header: "bali" as a number
// (https://www.sqlite.org/pragma.html#pragma_application_id).
const applicationID = 0x62616c69

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the steps from an empty file to the present schema. The number
// of steps made is the file's user_version.
func migrations() []string {
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
}

// schemaVersion answers the file's user_version. A newer one than this program
// knows wraps queue.ErrNotOurs.
func schemaVersion(c *conn) (int, error) {
	v, err := c.number(context.Background(), `PRAGMA user_version`)
	if err != nil {
		return 0, err
	}
	return int(v), checkVersion(int(v))
}

func checkVersion(v int) error {
	if known := len(migrations()); v > known {
		return fmt.Errorf("its schema has version %d, this program knows %d: a newer bailiff wrote it: %w", v, known, queue.ErrNotOurs)
	}
	return nil
}

// migrate brings the schema up to date, each step in a transaction of its own.
func migrate(c *conn) error {
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	for i, step := range migrations()[version:] {
		number := version + i + 1
		if err := c.script(fmt.Sprintf(`BEGIN IMMEDIATE; %s; PRAGMA user_version = %d; COMMIT`, step, number)); err != nil {
			if c.inTransaction() {
				_ = c.script(`ROLLBACK`)
			}
			return fmt.Errorf("migration %d: %w", number, err)
		}
	}
	return nil
}
