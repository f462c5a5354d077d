// Package sqlite is the engine: it keeps a queue in one SQLite file by the rules
// of package queue.
//
// What it holds to:
//
//   - Durable first. A call that answers without an error has been synced to the
//     disk (WAL, synchronous=FULL); a refusal is answered only after everything
//     it was decided by has been.
//   - One writer per Queue commits together what waits together (writer.go).
//     Each caller has its own answer, and an answer is the truth: after an error
//     nothing of that call stands, except with queue.ErrUnknown, which says so.
//   - Every write to a leased job repeats its guard, so that a token whose lease
//     is over changes nothing.
//   - A state changes in three places: transaction.create gives a job its first
//     one, promote makes the due ones ready, move does everything else. Each asks
//     queue.Allowed and keeps the counts; all but promote write the history. In a
//     copy that is no queue yet, Restore quarantines what was not finished
//     (restored.go).
//   - The file is in one place, under one name, or it is not used (place.go,
//     moved.go). On a full disk what running jobs record is still written
//     (reserve.go).
//
// A Queue may be used by many goroutines, and many processes may open one file.
// The engine knows nothing of handlers or processes. Nothing here opens a
// database that is in use but SQLite: closing any other descriptor on it would drop the
// locks that SQLite holds for this process
// (https://www.sqlite.org/howtocorrupt.html, section 2.2).
package sqlite
