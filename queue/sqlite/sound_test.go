package sqlite_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// raw is another program's connection to the database.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_busy_timeout=10000&_txlock=immediate"}
	db, err := sql.Open("sqlite3", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// mustExec changes the file behind the engine's back.
func mustExec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// unsound are queries that have no answer in a database that is as it should be.
var unsound = map[string]string{
	"counts that differ from the jobs": `SELECT kind_id, state, n FROM counts WHERE n > 0
		EXCEPT SELECT kind_id, state, count(*) FROM jobs GROUP BY kind_id, state`,
	"jobs that are not counted": `SELECT kind_id, state, count(*) FROM jobs GROUP BY kind_id, state
		EXCEPT SELECT kind_id, state, n FROM counts`,
	"leased jobs without their lease": `SELECT id, fence FROM jobs WHERE state = 3 EXCEPT SELECT job_id, fence FROM leases`,
	"leases without their leased job": `SELECT job_id, fence FROM leases EXCEPT SELECT id, fence FROM jobs WHERE state = 3`,
	"jobs whose history ends elsewhere": `SELECT j.id, j.state, h.to_state FROM jobs j JOIN history h ON h.job_id = j.id
		WHERE h.seq = (SELECT max(seq) FROM history WHERE job_id = j.id AND event <> 15)
		AND h.to_state <> j.state AND NOT (h.to_state = 1 AND j.state = 2)`,
	"jobs without history":                 `SELECT id FROM jobs EXCEPT SELECT job_id FROM history`,
	"history that does not fit together":   `SELECT job_id, seq FROM history h WHERE event NOT IN (1, 15) AND from_state <> (SELECT to_state FROM history p WHERE p.job_id = h.job_id AND p.seq = h.seq - 1) AND NOT (event IN (3, 11) AND from_state = 2)`,
	"jobs without data":                    `SELECT id FROM jobs EXCEPT SELECT job_id FROM job_data`,
	"rows that break a foreign key":        `SELECT "table", rowid FROM pragma_foreign_key_check`,
	"a structure that is not whole":        `SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
	"quarantined jobs that need no review": `SELECT id FROM jobs WHERE state = 6 AND needs_review = 0`,
}

// sound fails the test if the database is not as it should be.
func sound(t testing.TB, path string) {
	t.Helper()
	db := raw(t, path)
	for what, query := range unsound {
		rows, err := db.Query(query)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Error(err)
			}
			line := ""
			for i := range values {
				line += fmt.Sprintf(" %s=%v", columns[i], *values[i].(*any))
			}
			t.Errorf("%s:%s", what, line)
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		_ = rows.Close()
	}
}
