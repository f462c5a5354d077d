// Package queuetest is what an engine has to pass. Run puts any engine through
// every rule of a queue: the whole table of states and events, the bounds of every
// operation, leases on both clocks, what a person may decide, pruning, restore. It
// knows engines by the interfaces Queue, Store and Engine alone, and asks for
// nothing that package queue does not promise, so that an engine in another
// repository can use it:
//
//	func TestConformance(t *testing.T) { queuetest.Run(t, myEngine{}) }
//
// Model is the reference: a queue in memory, small enough to be read and believed.
// It passes Run as well, which shows that the suite asks for no engine's habits, and
// an engine's answers can be compared with its, one by one.
package queuetest
