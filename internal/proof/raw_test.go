package proof

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// raw is a connection to the database beside the engine.
type raw struct{ c *sqlite3.SQLiteConn }

func openRaw(path string) (raw, error) {
	settings := url.Values{"mode": {"rw"}, "_busy_timeout": {"10000"}, "_synchronous": {"FULL"}, "_stmt_cache_size": {"64"}}
	u := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	c, err := (&sqlite3.SQLiteDriver{}).Open(u.String())
	if err != nil {
		return raw{}, err
	}
	return raw{c.(*sqlite3.SQLiteConn)}, nil
}

func (r raw) close() { _ = r.c.Close() }

func (r raw) exec(script string) error {
	_, err := r.c.ExecContext(context.Background(), script, nil)
	return err
}

// rows are the answer to a query.
func (r raw) rows(query string, args ...any) (all [][]driver.Value, err error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	answer, err := r.c.QueryContext(context.Background(), query, named)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	for {
		row := make([]driver.Value, len(answer.Columns()))
		if err := answer.Next(row); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
}

// number is the integer that a query answers with; 0 for none.
func (r raw) number(query string, args ...any) (int64, error) {
	all, err := r.rows(query, args...)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	n, _ := all[0][0].(int64)
	return n, nil
}

// content is a digest of all that the tables hold, the numbers from which new ids
// go on included.
func (r raw) content() (string, error) {
	tables, err := r.rows(`SELECT t.name, (SELECT group_concat('quote("' || name || '")', ' || char(44) || ') FROM pragma_table_info(t.name))
		FROM sqlite_schema t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_stat%' ORDER BY t.name`)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, t := range tables {
		// In the order of the table, which is that of its key.
		text, err := r.rows(fmt.Sprintf(`SELECT group_concat(%s, char(10)) FROM "%s"`, t[1], t[0]))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\n%s\n", t[0], text[0][0])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// unsound are queries that have no answer in a database that is as it should be.
var unsound = map[string]string{
	"a structure that is not whole":     `SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
	"rows that break a foreign key":     `SELECT "table", rowid FROM pragma_foreign_key_check`,
	"counts that differ from the jobs":  `SELECT kind_id, state, n FROM counts WHERE n > 0 EXCEPT SELECT kind_id, state, count(*) FROM jobs GROUP BY kind_id, state`,
	"jobs that are not counted":         `SELECT kind_id, state, count(*) FROM jobs GROUP BY kind_id, state EXCEPT SELECT kind_id, state, n FROM counts`,
	"leased jobs without their lease":   `SELECT id, fence FROM jobs WHERE state = 3 EXCEPT SELECT job_id, fence FROM leases`,
	"leases without their leased job":   `SELECT job_id, fence FROM leases EXCEPT SELECT id, fence FROM jobs WHERE state = 3`,
	"jobs without data":                 `SELECT id FROM jobs EXCEPT SELECT job_id FROM job_data`,
	"data without its job":              `SELECT job_id FROM job_data EXCEPT SELECT id FROM jobs`,
	"jobs without history":              `SELECT id FROM jobs EXCEPT SELECT job_id FROM history`,
	"history with a gap":                `SELECT job_id FROM history GROUP BY job_id HAVING min(seq) <> 1 OR max(seq) <> count(*)`,
	"history that does not begin right": `SELECT job_id FROM history WHERE (seq = 1) <> (event = 1) OR (event = 1) <> (from_state IS NULL)`,
	"history that does not fit together": `SELECT h.job_id, h.seq FROM history h JOIN history p ON p.job_id = h.job_id AND p.seq = h.seq - 1
		WHERE h.event <> 15 AND h.from_state <> p.to_state AND NOT (h.from_state = 2 AND p.to_state = 1)`,
	"jobs whose history ends elsewhere": `SELECT j.id, j.state, h.to_state FROM jobs j JOIN history h ON h.job_id = j.id
		WHERE h.seq = (SELECT max(seq) FROM history WHERE job_id = j.id) AND h.to_state <> j.state AND NOT (h.to_state = 1 AND j.state = 2)`,
	"fences that differ from the history":  `SELECT j.id FROM jobs j JOIN history h ON h.job_id = j.id GROUP BY j.id HAVING max(h.fence) > j.fence`,
	"ids above the highest that was given": `SELECT id FROM jobs WHERE id > (SELECT seq FROM sqlite_sequence WHERE name = 'jobs')`,
}

// faults tells what is not as it should be, at one moment.
func (r raw) faults() (found []string) {
	if err := r.exec(`BEGIN`); err != nil {
		return []string{err.Error()}
	}
	for what, query := range unsound {
		all, err := r.rows(query)
		if err != nil {
			found = append(found, fmt.Sprintf("%s: %v", what, err))
		}
		if len(all) > 0 {
			found = append(found, fmt.Sprintf("%s: %v", what, all[:min(len(all), 5)]))
		}
	}
	if err := r.exec(`ROLLBACK`); err != nil {
		found = append(found, err.Error())
	}
	return found
}

// sound answers in words what is not as it should be in a database; nil if all is.
func sound(path string) error {
	r, err := openRaw(path)
	if err != nil {
		return err
	}
	defer r.close()
	if found := r.faults(); len(found) > 0 {
		return errors.New(strings.Join(found, "\n"))
	}
	return nil
}
