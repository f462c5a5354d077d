package sqlite

// When a waiting job is due; nothing else in this package says it.
//
// A scheduled job is due once the wall clock has come to due_at, or the monotonic
// clock of the boot that its delay was counted on has come to due_mono, whichever
// is first: so a wall clock set back makes nothing wait longer. Where the wall
// clock is behind, the job counts as due since its delay was over, not since its
// due_at, which is still to come.
//
// The parts of queries below name their parameters by number (view.moment): ?1 is
// a kind, ?2 the wall clock, ?3 this boot, ?4 its monotonic clock. What else a
// query asks for begins at ?5.
const (
	// dueByWall selects the jobs of a kind by the index jobs_scheduled.
	dueByWall = `state = 1 AND kind_id = ?1 AND due_at <= ?2`
	// dueByMono selects the jobs of a kind by the index jobs_delayed.
	dueByMono = `state = 1 AND due_mono IS NOT NULL AND kind_id = ?1 AND due_boot = ?3 AND due_mono <= ?4`
	// dueNow is true of a scheduled job that is due, and false or NULL of another.
	dueNow = `(due_at <= ?2 OR due_boot = ?3 AND due_mono <= ?4)`
	// dueSince is since when a job that is due has been so.
	dueSince = `CASE WHEN due_at <= ?2 THEN due_at ELSE ?2 - (?4 - due_mono) / 1000000 END`
)

// moment is what the parts of queries are about: a kind, and the view's own
// moment on both clocks, followed by what the query asks for besides.
func (v *view) moment(kind int64, more ...any) ([]any, error) {
	boot, err := v.bootID()
	return append([]any{kind, v.ms(), boot, int64(v.mono)}, more...), err
}

// isDue reports whether a job that waits can be claimed, and since when.
func (v *view) isDue(j *jobRow) (since int64, due bool, err error) {
	if j.due <= v.ms() || j.dueBoot == 0 {
		return j.due, j.due <= v.ms(), nil
	}
	boot, err := v.bootID()
	if err != nil || j.dueBoot != boot || j.dueMono > int64(v.mono) {
		return j.due, false, err
	}
	return v.ms() - (int64(v.mono)-j.dueMono)/1e6, true, nil
}

// What countDue asks, of the entries of an index alone.
const (
	countByWall = `SELECT count(*) FROM jobs WHERE ` + dueByWall
	countByMono = `SELECT count(*) FROM jobs WHERE ` + dueByMono + ` AND due_at > ?2`
)

// countDue counts the scheduled jobs of a kind that are due.
func (v *view) countDue(kind int64) (int64, error) {
	args, err := v.moment(kind)
	if err != nil {
		return 0, err
	}
	byWall, err := v.number(countByWall, args...)
	if err != nil {
		return 0, err
	}
	byMono, err := v.number(countByMono, args...)
	return byWall + byMono, err
}

// countDueUpTo is countDue that ends counting at most.
func (v *view) countDueUpTo(kind, most int64) (int64, error) {
	args, err := v.moment(kind, most)
	if err != nil {
		return 0, err
	}
	byWall, err := v.number(`SELECT count(*) FROM (SELECT 1 FROM jobs WHERE `+dueByWall+` LIMIT ?5)`, args...)
	if err != nil || byWall == most {
		return byWall, err
	}
	// Of the first 2*most fewer than most were counted above.
	byMono, err := v.number(`SELECT count(*) FROM (SELECT due_at FROM jobs WHERE `+dueByMono+` LIMIT 2 * ?5) WHERE due_at > ?2`, args...)
	return min(byWall+byMono, most), err
}

// firstDue is since when the oldest of a kind's scheduled jobs has been due;
// false if none is.
func (v *view) firstDue(kind int64) (since int64, found bool, err error) {
	args, err := v.moment(kind)
	if err != nil {
		return 0, false, err
	}
	for _, query := range []string{
		`SELECT due_at FROM jobs WHERE ` + dueByWall + ` ORDER BY due_at LIMIT 1`,
		`SELECT ` + dueSince + ` FROM jobs WHERE ` + dueByMono + ` ORDER BY due_mono LIMIT 1`,
	} {
		if _, err := v.one(query, args, func(r row) error {
			if !found || r.int(0) < since {
				since, found = r.int(0), true
			}
			return nil
		}); err != nil {
			return 0, false, err
		}
	}
	return since, found, nil
}

// nextDue is when the next of a kind's scheduled jobs becomes due, by the wall
// clock; false if none is left to.
func (v *view) nextDue(kind int64) (at int64, found bool, err error) {
	args, err := v.moment(kind)
	if err != nil {
		return 0, false, err
	}
	for _, query := range []string{
		`SELECT due_at FROM jobs WHERE state = 1 AND kind_id = ?1 AND due_at > ?2
			AND (due_boot IS NOT ?3 OR due_mono > ?4) ORDER BY due_at LIMIT 1`,
		// Up to the next millisecond: not before it is due.
		`SELECT ?2 + (due_mono - ?4 + 999999) / 1000000 FROM jobs WHERE state = 1 AND due_mono IS NOT NULL
			AND kind_id = ?1 AND due_boot = ?3 AND due_mono > ?4 AND due_at > ?2 ORDER BY due_mono LIMIT 1`,
	} {
		if _, err := v.one(query, args, func(r row) error {
			if !found || r.int(0) < at {
				at, found = r.int(0), true
			}
			return nil
		}); err != nil {
			return 0, false, err
		}
	}
	return at, found, nil
}
