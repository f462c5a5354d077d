package sqlite

import (
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// refusal is an error whose class is for errors.Is alone. The words of the class,
// such as those of queue.ErrNotOurs about one of ours that lies in a wrong place,
// would say what is not so.
type refusal struct {
	why   error
	class error
}

func (e *refusal) Error() string   { return e.why.Error() }
func (e *refusal) Unwrap() []error { return []error{e.why, e.class} }

// refuseAs is an error of a class, in the words of format alone.
func refuseAs(class error, format string, args ...any) error {
	return &refusal{fmt.Errorf(format, args...), class}
}

// refuse is refuseAs for a database that is ours and not to be used.
func refuse(format string, args ...any) error {
	return refuseAs(queue.ErrNotOurs, format, args...)
}

// damaged is refuseAs for one that has lost its form, or a copy of one.
func damaged(format string, args ...any) error {
	return refuseAs(queue.ErrDamaged, "it is damaged: "+format, args...)
}
