package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
)

// testdata/version1 holds a database as the first version of the schema left it,
// with leases of two boots, and what that version's engine answered about it 30
// seconds later, when the leases of its own boot were over.

// answers1 is what was answered then.
type answers1 struct {
	Tokens map[string]string `json:"tokens"`
	Jobs   []struct {
		Job     queue.Job     `json:"job"`
		Payload string        `json:"payload"` // byte for byte
		History []queue.Entry `json:"history"`
	} `json:"jobs"`
}

func version1Answers(t *testing.T) (a answers1) {
	t.Helper()
	b, err := os.ReadFile("testdata/version1/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// version1 is a copy of the database.
func version1(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/version1/bailiff.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bailiff.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// watchClock is the clock of a machine on which time passes whenever it is looked
// at, so that a watch ends.
type watchClock struct {
	*clock.Fake
	looked func() // nil: nobody is told
}

func (c watchClock) Mono() time.Duration {
	if c.looked != nil {
		c.looked()
	}
	c.Advance(100 * time.Millisecond)
	return c.Fake.Mono()
}

// afterwards is a clock of the leases' boot after their end.
func afterwards() watchClock {
	c := clock.NewFake(start)
	c.Advance(30426 * time.Millisecond)
	return watchClock{Fake: c}
}

// versionOf is the version of a database's schema.
func versionOf(t *testing.T, path string) (version int) {
	t.Helper()
	if err := raw(t, path).QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

func backupsOf(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".v*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// inBoth are queries about what each version of the schema holds, as it is written
// in each. What is not the same is what version 2 keeps less of.
var inBoth = []struct{ one, two string }{
	{`SELECT one, hex(uid), fence_floor, created_at FROM queue`, ``},
	{`SELECT name, seq FROM sqlite_sequence ORDER BY name`, ``},
	{`SELECT * FROM kinds ORDER BY id`, ``},
	{`SELECT * FROM workers ORDER BY id`, ``},
	{`SELECT * FROM boots ORDER BY id`, ``},
	{`SELECT * FROM counts ORDER BY kind_id, state`, ``},
	{`SELECT * FROM commit_mark ORDER BY slot`, ``},
	{`SELECT job_id, seq, name, state, fence, repeatable, voids, hex(proof), begun_at, settled_at, receipt, note
		FROM effects ORDER BY job_id, seq`, ``},
	{`SELECT id, kind_id, key, state, priority, due_at, due_boot, due_mono, attempt, named_limit, last_limit, fence, marked,
		effects_possible, needs_review, created_at, updated_at, finished_at, concurrency_key, last_error,
		hex(substr(settled_token, 1, 16)), hex(substr(settled_outcome, 1, 16)) FROM jobs ORDER BY id`, ``},
	{`SELECT job_id, hex(substr(digest, 1, 16)), payload, meta FROM job_data ORDER BY job_id`, ``},
	{`SELECT job_id, result FROM job_data WHERE result IS NOT NULL ORDER BY job_id`, `SELECT job_id, result FROM results ORDER BY job_id`},
	{`SELECT kind_id, key, job_id, hex(substr(digest, 1, 16)), named_limit, state, finished_at FROM remembered`, ``},
	{`SELECT job_id, fence, hex(substr(token, 1, 16)), worker_id, boot_id, length, deadline_mono, expires_mono, uncertain,
		attempt_limit, hex(handler), guardian, start, claimed_at FROM leases ORDER BY job_id`,
		`SELECT job_id, fence, hex(token), worker_id, boot_id, length, deadline_mono, expires_mono, uncertain,
		attempt_limit, hex(digest), guardian, start, claimed_at FROM leases LEFT JOIN handler_files f ON f.id = handler_id ORDER BY job_id`},
	{`SELECT job_id, seq, at, event, from_state, to_state, attempt, fence, worker_id, hex(handler), detail, count, last_at, last_fence
		FROM history ORDER BY job_id, seq`,
		`SELECT job_id, seq, at, event, from_state, to_state, attempt, fence, worker_id, hex(digest), detail, count,
		coalesce(last_at, at), coalesce(last_fence, fence) FROM history LEFT JOIN handler_files f ON f.id = handler_id ORDER BY job_id, seq`},
	{`SELECT * FROM history_view ORDER BY job_id, seq`, ``},
	{`SELECT id, kind, key, state, priority, attempt, nullif(max_attempts, 5), fence, available_at, created_at, updated_at, finished_at,
		worker, cancel_requested, external_effects_possible, last_error, payload, meta, result FROM job_view ORDER BY id`, ``},
}

// allRows are all rows of a database, by the query that version 1 asks for them.
func allRows(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, version := raw(t, path), versionOf(t, path)
	all := map[string][]string{}
	for _, q := range inBoth {
		query := q.one
		if version > 1 && q.two != "" {
			query = q.two
		}
		rows, err := db.Query(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		columns, _ := rows.Columns()
		all[q.one] = nil
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			var line []string
			for i := range values {
				line = append(line, fmt.Sprintf("%v", *values[i].(*any)))
			}
			all[q.one] = append(all[q.one], strings.Join(line, "|"))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		_ = rows.Close()
	}
	return all
}

func sameContents(t *testing.T, what string, got, want map[string][]string) {
	t.Helper()
	for query, rows := range want {
		if len(rows) == 0 {
			t.Errorf("%s: nothing to compare of %s", what, query)
		}
		if !slices.Equal(got[query], rows) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", what, query, strings.Join(got[query], "\n     "), strings.Join(rows, "\n     "))
		}
	}
}
