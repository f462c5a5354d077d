package sqlite

// countAll writes what the transaction changed of the table counts. A change that
// would lead below nothing shows that the table had drifted from the jobs, by
// whatever hand. Then the jobs of that kind are counted anew: a claim that failed
// instead would fail for ever.
func (t *transaction) countAll() error {
	drifted := map[int64]bool{}
	for p, n := range t.counts {
		if n == 0 {
			continue
		}
		ok, err := t.count(p, n)
		if err != nil {
			return err
		}
		if !ok {
			drifted[p.kind] = true
		}
	}
	for kind := range drifted {
		if err := t.recount(kind); err != nil {
			return err
		}
	}
	return nil
}

// count changes how many jobs stand at a place; false if fewer stood there.
func (t *transaction) count(p place, n int64) (ok bool, err error) {
	changed, err := t.exec(`UPDATE counts SET n = n + ?1 WHERE kind_id = ?2 AND state = ?3 AND n + ?1 >= 0`, n, p.kind, p.state)
	if err != nil || changed != 0 {
		return true, err
	}
	if n < 0 {
		return false, nil
	}
	_, err = t.exec(`INSERT INTO counts (kind_id, state, n) VALUES (?, ?, ?)`, p.kind, p.state, n)
	return true, err
}

// recount counts the jobs of a kind as they stand, which takes as long as there
// are many.
func (t *transaction) recount(kind int64) error {
	name, err := t.kindName(kind)
	if err != nil {
		return err
	}
	t.q.logger.Warn("the counts of a kind did not fit its jobs, which are counted anew", "database", t.q.path, "kind", name)
	if _, err := t.exec(`DELETE FROM counts WHERE kind_id = ?`, kind); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO counts (kind_id, state, n) SELECT kind_id, state, count(*) FROM jobs WHERE kind_id = ? GROUP BY state`, kind)
	return err
}
