package sqlite

import (
	"strings"
	"sync"
)

// SQLite plans a statement anew, at half the cost of running it, whenever a value is
// bound to a parameter that might have changed the plan, such as that of a LIMIT
// (https://www.sqlite.org/c3ref/prepare.html#sqlite3preparev2case3). The plans here
// do not depend on values. So each parameter gets a sign: "+?" is the same value,
// but an expression, into which SQLite does not look. The setting that is there for
// this, SQLITE_DBCONFIG_ENABLE_QPSG, cannot be had by way of the driver.

var steadyTexts sync.Map // by the text that was written

// steady is a statement whose plan is made once. No text or name in a statement of
// this package has a question mark.
func steady(query string) string {
	if s, ok := steadyTexts.Load(query); ok {
		return s.(string)
	}
	s := strings.ReplaceAll(query, "?", "+?")
	steadyTexts.Store(query, s)
	return s
}
