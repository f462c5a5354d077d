// Package supervisor is bailiff's policy: it claims jobs from a queue, hands
// each to a child of its handler, keeps the lease while the child works, stops
// children that must stop, judges what a run was, and records it.
//
// The rules live in few places. Judge (verdict.go) alone decides what a run
// was, from evidence. The keeper (lease.go) alone decides how long a child may
// live under a lease; neither a child nor the database can delay it. Dispatch
// (dispatch.go) alone claims, and claims exactly what is free. What becomes of
// a job after its run is not decided here but by package queue, in the
// transaction that records the run.
//
// The package knows no SQL and no process groups: queues are an interface
// declared here, children are started and killed by supervisor/process.
package supervisor
