package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseRef reads how people name a job: 17, or mail/welcome-42. The first slash
// ends the kind, so a key may hold slashes. What it cannot read wraps ErrInvalid.
func ParseRef(s string) (Ref, error) {
	kind, key, slash := strings.Cut(s, "/")
	if !slash {
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return Ref{}, fmt.Errorf("job %s: a number or KIND/KEY is expected: %w", quote(s), ErrInvalid)
		}
		return Ref{ID: id}, validID(id)
	}
	ref := Ref{Kind: kind, Key: key}
	return ref, ref.Check()
}

// String is what ParseRef reads.
func (r Ref) String() string {
	if r.ID != 0 {
		return strconv.FormatInt(r.ID, 10)
	}
	return r.Kind + "/" + r.Key
}
