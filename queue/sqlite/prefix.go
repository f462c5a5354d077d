package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
)

// Jobs whose keys begin alike are found in one of two ways, for each kind. By their
// keys, whose index has them together but not by id: all of them are looked at for a
// page. Or among the others by id, which is quick where many of them fit and takes
// long where few do. Which it is cannot be told from their numbers alone, since those
// that fit may stand behind all others: then a part of the others is tried first.

const (
	// few is how many jobs it does not matter to look at.
	few = 10_000
	// countKeys bounds the keys that are counted for one page.
	countKeys = 10 * few
)

// byPrefix answers the first n ids of a filter with a key prefix.
func (v *view) byPrefix(f *queue.Filter, kinds []kind, n int) ([]int64, error) {
	streams, sure, err := v.prefixed(f, kinds, true)
	if err != nil {
		return nil, err
	}
	if sure {
		return v.merge(streams, f.After, n)
	}
	end := f.After + few
	for _, s := range streams {
		s.where(`j.id <= ` + s.param(end))
	}
	ids, err := v.merge(streams, f.After, n)
	if err != nil || len(ids) == n {
		return ids, err
	}
	if streams, _, err = v.prefixed(f, kinds, false); err != nil {
		return nil, err
	}
	more, err := v.merge(streams, end, n-len(ids))
	return append(ids, more...), err
}

// prefixed are the streams of a filter with a key prefix. Where neither way is sure
// to be short, try decides for the walk among the others.
func (v *view) prefixed(f *queue.Filter, kinds []kind, try bool) (list []*stream, sure bool, err error) {
	sure = true
	left := int64(countKeys)
	for _, k := range kinds {
		jobs, err := v.inStates(k.id, f.States)
		if err != nil {
			return nil, false, err
		}
		keys, err := v.number(`SELECT count(*) FROM (SELECT 1 FROM jobs WHERE kind_id = ? AND key >= ? AND key < ? LIMIT ?)`,
			k.id, f.KeyPrefix, keyEnd(f.KeyPrefix), min(left, jobs))
		if err != nil {
			return nil, false, err
		}
		left -= keys
		walk := keys >= jobs
		if !walk && keys >= min(jobs, few) {
			walk, sure = try, false
		}
		streams, err := v.ofKind(f, k, walk)
		if err != nil {
			return nil, false, err
		}
		list = append(list, streams...)
	}
	return list, sure, nil
}

// ofKind are the streams of one kind, found in the one way or the other.
func (v *view) ofKind(f *queue.Filter, k kind, walk bool) ([]*stream, error) {
	if !walk {
		s, err := v.byKey(f, k.id)
		return []*stream{s}, err
	}
	one := *f
	one.Kind = k.name
	return v.streams(&one, []kind{k})
}

// inStates counts the jobs of a kind in states, or in all if there are none.
func (v *view) inStates(kind int64, list []queue.State) (sum int64, err error) {
	has := func(state queue.State) bool { return len(list) == 0 || slices.Contains(list, state) }
	err = v.each(`SELECT state, n FROM counts WHERE kind_id = ?`, []any{kind}, func(r row) error {
		if has(states.word(code(r.int(0)))) {
			sum += r.int(1)
		}
		return nil
	})
	if err != nil || has(queue.StateScheduled) || !has(queue.StateReady) {
		return sum, err
	}
	due, err := v.countDueUpTo(kind, countKeys)
	return sum + due, err
}

// keyedJobs are those of a kind whose keys are not before first, and before end.
func keyedJobs(first, end string) string {
	return `jobs j WHERE j.kind_id = ?1 AND j.key >= ` + first + ` AND j.key < ` + end
}

// byKey is the stream of a kind's jobs that are found by their keys.
func (v *view) byKey(f *queue.Filter, kind int64) (*stream, error) {
	s, err := v.stream(kind, ``)
	s.whole = true
	s.query += keyedJobs(s.param(f.KeyPrefix), s.param(keyEnd(f.KeyPrefix)))
	if len(f.States) > 0 {
		s.where(stateClause(f.States))
	}
	if f.OlderThan > 0 {
		s.where(v.older(s, f))
	}
	return s, err
}

// stateClause selects by state, a scheduled job that is due being ready. The pluses
// keep SQLite from the indexes of states.
func stateClause(list []queue.State) string {
	has := func(state queue.State) bool { return slices.Contains(list, state) }
	var plain []string
	for _, state := range list {
		if state != queue.StateScheduled || has(queue.StateReady) {
			plain = append(plain, fmt.Sprint(int64(states.code(state))))
		}
	}
	clause := `+j.state IN (` + strings.Join(plain, `, `) + `)`
	switch {
	case has(queue.StateReady) && !has(queue.StateScheduled):
		clause += ` OR +j.state = 1 AND ` + dueNow
	case has(queue.StateScheduled) && !has(queue.StateReady):
		clause += ` OR +j.state = 1 AND ` + dueNow + ` IS NOT TRUE`
	}
	return `(` + clause + `)`
}

// keyEnd is the first text after all those that begin with prefix. The last byte of
// a text in UTF-8 is never 0xff.
func keyEnd(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}
