package sqlite

// kind is a row of the table kinds.
type kind struct {
	id     int64
	name   string
	paused bool
}

// kinds are the kinds of these names, or all for nil. Unknown names are left out.
func (v *view) kinds(names []string) (list []kind, err error) {
	add := func(r row) error {
		list = append(list, kind{id: r.int(0), name: r.text(1), paused: r.bool(2)})
		return nil
	}
	if names == nil {
		return list, v.each(`SELECT id, name, paused FROM kinds`, nil, add)
	}
	for _, name := range names {
		if err := v.each(`SELECT id, name, paused FROM kinds WHERE name = ?`, []any{name}, add); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// kindName is the name of a kind that a row refers to.
func (v *view) kindName(id int64) (name string, err error) {
	_, err = v.one(`SELECT name FROM kinds WHERE id = ?`, []any{id}, func(r row) error {
		name = r.text(0)
		return nil
	})
	return name, err
}
