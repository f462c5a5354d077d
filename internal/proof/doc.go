// Package proof holds no code: its tests prove that the queue keeps its word, with
// the engine (queue/sqlite) as it is, in processes of its own.
//
// What is proven, and how:
//
//   - Power loss (powerloss_linux_test.go). A library that is loaded between
//     SQLite and the C library (testdata/shim.c) writes down each write,
//     truncation, sync and name, and the program adds each word that it was
//     given. From that record a disk is built as it may be when the power fails at
//     any moment (disk_linux_test.go). What is opened there must be sound, and be
//     the database exactly as one commit left it, no earlier than the last that a
//     word was given about. That the shim missed nothing is seen by comparing the
//     files in the end; that the proof can fail, by a disk that does not honour syncs.
//   - Injected errors (faults_linux_test.go). Each call of SQLite fails in turn, once
//     or from then on. When the file is opened again, what was answered without an
//     error stands, what was refused left nothing, and what is unknown is told when
//     it is asked again.
//   - Killed writers (kill_test.go), several on one file, at any moment.
//   - Order (linear_test.go). Whatever four processes with eight workers each do at
//     the same time could have been done one after the other, by the small queue of
//     linear_model_test.go. Histories that cannot be are found.
//   - Surroundings (environment_linux_test.go): damaged pages, a wall clock that
//     jumps, time namespaces, folders that are missing. What concerns one method of
//     the engine is tested beside it.
//
// What is not seen here: Go's own calls do not pass the shim. They are few: making
// the empty file and syncing its folder (Create), the reserve, and putting backups
// and restored copies in place. A recording begins with a file that is there.
//
// What is taken for granted of a disk: what was synced stays; a write leaves the
// bytes beside it alone; the first 512 bytes of a file, where the engine looks for
// whose it is, are written whole or not at all. SQLite does not look at whether the
// folder could be synced, so where that fails and the power does too, a new log may
// be gone. After a sync of the log that failed, the queue ends; a file whose disk
// confirmed nothing is no more than what is read from it.
//
// Longer runs by hand: go test ./internal/proof -run PowerLoss -cuts 20000, -run
// Killed -kills 5000, -run Injected -every-fault.
package proof
