package sqlite

import (
	"fmt"
	"net/url"
	"time"
)

// access is what a connection is for.
type access int

const (
	writing access = iota
	reading
	creating
	private   // a file that nobody else knows yet: no locks, no syncs; its journal is set by whoever opens it
	examining // reading a file that may be damaged, or be no queue: it changes nothing in how it is kept
	besideLog // examining that may not write: if it is the last to close, its log is neither copied nor deleted
	immutable // reading the file alone, with no lock and nothing beside it
)

// patience is how long a connection that is being opened or that reads waits for
// a lock. In WAL mode readers wait only for a recovery or for the last connection
// of another process to leave.
const patience = 5 * time.Second

// dsn names the database for the driver, with every setting that belongs to a
// connection, so that none is made without them. The driver's own default for
// synchronous in WAL is NORMAL, which loses commits at a power failure.
// mode=rw: a missing file is an error, never a new database.
func dsn(path string, a access) string {
	settings := url.Values{
		"mode":             {"rw"},
		"_journal_mode":    {"WAL"},
		"_synchronous":     {"FULL"},
		"_foreign_keys":    {"on"},
		"_busy_timeout":    {fmt.Sprint(patience.Milliseconds())},
		"_stmt_cache_size": {"128"},
		"_mutex":           {"no"}, // each connection has one user at a time
	}
	switch a {
	case writing:
		settings.Set("_cache_size", "-8000") // KiB
	case reading:
		settings.Set("_cache_size", "-1000")
		settings.Set("_query_only", "on")
		settings.Set("_busy_timeout", "0") // patiently waits, and hears of its caller
	case creating:
		// A property of the file; setting it again would be a write.
		settings.Set("_auto_vacuum", "incremental")
	case private:
		settings.Del("_journal_mode")
		settings.Set("_locking_mode", "EXCLUSIVE")
		settings.Set("_synchronous", "OFF")
		settings.Set("_cache_size", "-16000")
	case examining, besideLog, immutable:
		settings.Del("_journal_mode")
		settings.Set("_query_only", "on")
		settings.Set("_busy_timeout", "0")
		if a != examining {
			settings.Set("mode", "ro")
		}
		if a == immutable {
			settings.Set("immutable", "1")
		}
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	return u.String()
}
