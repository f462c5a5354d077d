package sqlite

import "fmt"

// A list is merged from streams of ids. Most are the jobs of one kind in one state,
// which an index yields in the order of their ids. So a page costs what is on it and
// a little for each stream, and the query of a stream is one of a few.

// stream is a query for ids in their order, above ?5 and ?6 of them at most.
type stream struct {
	query string
	args  []any // ?1 to ?4 as in view.moment, ?5 and ?6 of fill, others from ?7 on
	whole bool  // it sorts what it finds: asked once, for as much as the page takes

	ids   []int64 // read and not taken yet
	ended bool
}

const (
	streamBegin = `SELECT j.id FROM `
	streamEnd   = ` AND j.id > ?5 ORDER BY j.id LIMIT ?6`
	// streamStep is how many ids are read of a stream at a time.
	streamStep = 32
)

// stream begins a query about jobs, which it calls j. from ends in a condition.
func (v *view) stream(kind int64, from string) (*stream, error) {
	args, err := v.moment(kind, nil, nil)
	return &stream{query: streamBegin + from, args: args}, err
}

// param adds an argument and answers its name.
func (s *stream) param(value any) string {
	s.args = append(s.args, value)
	return fmt.Sprintf("?%d", len(s.args))
}

// where adds a condition.
func (s *stream) where(condition string) { s.query += ` AND ` + condition }

// merge takes the first n ids above after from streams that have none in common.
func (v *view) merge(streams []*stream, after int64, n int) (ids []int64, err error) {
	for len(ids) < n {
		var next *stream
		for _, s := range streams {
			if err := v.fill(s, after, n); err != nil {
				return nil, err
			}
			if len(s.ids) > 0 && (next == nil || s.ids[0] < next.ids[0]) {
				next = s
			}
		}
		if next == nil {
			break
		}
		after = next.ids[0]
		next.ids = next.ids[1:]
		ids = append(ids, after)
	}
	return ids, nil
}

// fill reads on in a stream of which all that was read is taken. What was taken
// last is after, or below it.
func (v *view) fill(s *stream, after int64, n int) error {
	if len(s.ids) > 0 || s.ended {
		return nil
	}
	if !s.whole {
		n = min(n, streamStep)
	}
	s.args[4], s.args[5] = after, n
	err := v.each(s.query+streamEnd, s.args, func(r row) error {
		s.ids = append(s.ids, r.int(0))
		return nil
	})
	s.ended = len(s.ids) < n
	return err
}
