package sqlite

// bootID is the number of this machine's boot, 0 for one that the file does not
// know yet. It is asked for once in each view, not once for all: a boot under
// which nothing counts is forgotten, perhaps by another process.
func (v *view) bootID() (int64, error) {
	if v.thisBoot != 0 {
		return v.thisBoot, nil
	}
	var err error
	v.thisBoot, err = v.number(`SELECT id FROM boots WHERE name = ?`, v.q.boot)
	return v.thisBoot, err
}

// boot is the number of this machine's boot, made if it is new. The boots under
// which no lease and no delay counts any more make room for it: a machine without
// a boot id is another one with every start of a program.
func (t *transaction) boot() (int64, error) {
	id, err := t.bootID()
	if err != nil || id != 0 {
		return id, err
	}
	if _, err := t.exec(`DELETE FROM boots WHERE id NOT IN (SELECT boot_id FROM leases) AND NOT EXISTS (
		SELECT 1 FROM kinds k CROSS JOIN jobs j ON j.kind_id = k.id
		WHERE j.state = 1 AND j.due_mono IS NOT NULL AND j.due_boot = boots.id)`); err != nil {
		return 0, err
	}
	t.thisBoot, err = t.insert(`INSERT INTO boots (name) VALUES (?)`, t.q.boot)
	return t.thisBoot, err
}
