package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b1213022/bailiff/internal/shellword"
)

// content looks at the rows, all at one moment.
func (e *examiner) content() {
	version := e.whatItIs()
	before := len(e.Findings)
	e.integrity()
	e.faults("foreign keys", e.broken, "every reference leads to a row", wrongReferences)
	if version == 0 {
		return
	}
	for _, q := range []struct{ check, fine, query string }{
		{"leases", "every leased job has its lease, and no other", wrongLeases},
		{"history", "whole, and it leads to where each job stands", wrongHistory},
		{"payloads", "every job has one", `SELECT 'job ' || id || ' has none' FROM jobs WHERE id NOT IN (SELECT job_id FROM job_data)`},
		{"ids", "none can be given out twice", wrongIDs},
		{"keys", "no key belongs to two jobs", wrongKeys},
	} {
		e.faults(q.check, e.odd, q.fine, q.query)
	}
	if e.sealed {
		return // a restore counts anew, and takes the leases away
	}
	counts := e.odd
	if !slices.ContainsFunc(e.Findings[before:], func(f Finding) bool { return !f.OK }) {
		counts = e.miscounted
	}
	e.faults("counts", counts, "as many jobs are counted as there are", wrongCounts)
	e.overdue()
}

// odd tells of rows that do not fit together.
func (e *examiner) odd(check, detail string, args ...any) {
	e.wrong(check, e.unexpected(), detail, args...)
}

// miscounted tells of counts that are all that is wrong.
func (e *examiner) miscounted(check, detail string, args ...any) {
	e.wrong(check, fmt.Sprintf(`jobs are safe, only their numbers are wrong: sqlite3 %s "BEGIN IMMEDIATE; DELETE FROM counts; %s; COMMIT"`,
		shellword.Quote(e.Path), recountJobs), detail, args...)
}

const (
	wrongReferences = `SELECT CASE count(*) WHEN 1 THEN 'a row of ' || "table" || ' refers' ELSE count(*) || ' rows of ' || "table" || ' refer' END
		|| ' to one of ' || parent || ' that is not there' FROM pragma_foreign_key_check GROUP BY "table", parent`
	wrongCounts = `SELECT coalesce(k.name, 'kind number ' || c.kind_id) || ': ' || sum(c.jobs) || ' ' || s.word || ', counted as ' || sum(c.n)
		FROM (SELECT kind_id, state, count(*) AS jobs, 0 AS n FROM jobs GROUP BY kind_id, state
			UNION ALL SELECT kind_id, state, 0, n FROM counts) c
		LEFT JOIN kinds k ON k.id = c.kind_id LEFT JOIN state_word s ON s.code = c.state
		GROUP BY c.kind_id, c.state HAVING sum(c.jobs) <> sum(c.n)`
	wrongLeases = `SELECT 'job ' || j.id || ' is leased, by nobody' FROM jobs j LEFT JOIN leases l ON l.job_id = j.id AND l.fence = j.fence
			WHERE j.state = 3 AND l.job_id IS NULL
		UNION ALL SELECT 'a lease stands on job ' || l.job_id || ', which is not leased' FROM leases l LEFT JOIN jobs j ON j.id = l.job_id
			WHERE j.state IS NOT 3`
	// A history as long as this may have lost its beginning to a prune (prune_long.go).
	wrongHistory = `SELECT 'job ' || j.id || CASE WHEN h.n IS NULL THEN ' has none'
				WHEN h.last - h.first + 1 <> h.n OR h.first <> 1 AND h.n < ` + longHistoryText + ` THEN ' lacks entries'
				WHEN h.first = 1 AND h.made = 0 THEN ' has no beginning' ELSE ': it leads elsewhere' END
		FROM jobs j LEFT JOIN (SELECT job_id, count(*) AS n, min(seq) AS first, max(seq) AS last, sum(event IN (1, 14)) AS made
			FROM history GROUP BY job_id) h ON h.job_id = j.id
		WHERE h.n IS NULL OR h.last - h.first + 1 <> h.n OR h.first <> 1 AND h.n < ` + longHistoryText + `
			OR h.first = 1 AND h.made = 0 OR NOT EXISTS (
			SELECT 1 FROM (SELECT to_state FROM history WHERE job_id = j.id AND event <> 15 ORDER BY seq DESC LIMIT 1)
			WHERE to_state = j.state OR to_state = 1 AND j.state = 2)
		UNION ALL SELECT 'job ' || job_id || ' has one and is not there' FROM history WHERE seq = 1 AND job_id NOT IN (SELECT id FROM jobs)`
	wrongIDs = `SELECT 'job ' || top || ' exists or did, and the next would be ' || (seq + 1) FROM (SELECT
		(SELECT max(n) FROM (SELECT max(id) AS n FROM jobs UNION ALL SELECT max(job_id) FROM remembered)) AS top,
		coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'jobs'), 0) AS seq) WHERE top > seq`
	wrongKeys = `SELECT 'job ' || j.id || ' has the key of job ' || r.job_id || ', which was pruned' FROM remembered r
		JOIN jobs j ON j.kind_id = r.kind_id AND j.key = r.key`
)

// whatItIs reads the schema's version; 0 where it holds no queue.
func (e *examiner) whatItIs() (version int) {
	version, err := schemaVersion(e.c)
	if err != nil {
		e.failed("schema", err)
		return 0
	}
	switch known := len(migrations()); {
	case version == known:
		e.fine("schema", "version %d", version)
	case e.sealed:
		e.fine("schema", "version %d; restore brings it to %d", version, known)
	default:
		e.wrong("schema", "bailiff run brings it up to date and keeps a backup", "version %d, this program needs %d", version, known)
	}
	if version < snapshotVersion || e.sealed {
		return version
	}
	var restored time.Time
	if _, err := e.c.one(e.ctx, `SELECT restored_at FROM queue`, nil, func(r row) error {
		restored = atMS(r, 0)
		return nil
	}); err != nil {
		e.failed("kind", err)
		return version
	}
	if restored.IsZero() {
		e.fine("kind", "a queue")
	} else {
		e.fine("kind", "a queue, restored from a snapshot on %s", restored.Format(time.RFC3339))
	}
	return version
}

// integrity asks SQLite about every page and every index.
func (e *examiner) integrity() {
	var said []string
	err := e.c.each(e.ctx, `PRAGMA integrity_check(10)`, nil, func(r row) error {
		said = append(said, r.text(0))
		return nil
	})
	switch {
	case err != nil:
		e.failed("integrity", err)
	case len(said) == 1 && said[0] == "ok":
		e.fine("integrity", "every page and every index is whole")
	default:
		e.broken("integrity", "%s", strings.Join(said, "; "))
	}
}

// shownFaults of one check are told; the others are counted.
const shownFaults = 3

// faults runs a query that answers with a line for each thing that is wrong, and has
// them told.
func (e *examiner) faults(check string, tell func(check, detail string, args ...any), fine, query string) {
	var shown []string
	n := 0
	err := e.c.each(e.ctx, query, nil, func(r row) error {
		if n++; n <= shownFaults {
			shown = append(shown, r.text(0))
		}
		return nil
	})
	switch {
	case err != nil:
		e.failed(check, err)
	case n == 0:
		e.fine(check, "%s", fine)
	case n > shownFaults:
		tell(check, "%s; and %d more", strings.Join(shown, "; "), n-shownFaults)
	default:
		tell(check, "%s", strings.Join(shown, "; "))
	}
}

// overdue tells of leases that are over and that nobody has expired: of this boot,
// since the others count on a clock that is not to be read.
func (e *examiner) overdue() {
	var n, others int64
	var longest time.Duration
	now := e.opt.Clock.Mono()
	err := e.c.each(e.ctx, `SELECT b.name, l.expires_mono FROM leases l JOIN boots b ON b.id = l.boot_id`, nil, func(r row) error {
		switch over := now - time.Duration(r.int(1)); {
		case r.text(0) != e.opt.Clock.Boot():
			others++
		case over > 0:
			n++
			longest = max(longest, over)
		}
		return nil
	})
	detail := fmt.Sprintf("%d leases are over, one for %s, and their jobs wait for somebody to notice", n, say(longest))
	switch {
	case err != nil:
		e.failed("overdue leases", err)
	case n > 0:
		e.wrong("overdue leases", "bailiff run", "%s", detail)
	case others > 0:
		e.fine("overdue leases", "none of this boot; %d of others end once they were seen unchanged for their length", others)
	default:
		e.fine("overdue leases", "none")
	}
}
