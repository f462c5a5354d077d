// Package process is the mechanism beneath the supervisor: it starts one child,
// gives its pipes to the caller, watches it, asks it to stop and kills it with
// all that it started. It knows no job, no lease and no protocol, and decides
// nothing: when to ask, how long to wait and when to kill are the caller's.
//
// # The life of a child
//
//	Start → (Exited) → Kill → Gone
//
// Who starts a child must call Kill sooner or later, also when Exited is closed:
// what the child started may live on, and only Gone says that nothing does.
// Close gives the pipes back; it does not end the child.
//
// # The tree
//
// A child leads a session of its own (setsid(2)), so it has no controlling
// terminal and a process group whose number is its pid. Its tree is that
// session: the group, and the other groups that members of it made. A process
// that began a session of its own has left the tree and is not found here.
//
// # The invariant
//
// A number in a kill(2) must never name a stranger. The leader's end is
// therefore observed without reaping it (waitid(2) with WNOWAIT): while it is a
// zombie, the system gives its pid, group and session number to nobody else. It
// is reaped when nothing else of its tree lives, and from then on no signal is
// sent. Members in other groups are signalled through a pidfd whose session was
// looked up again after it was opened.
//
// A tree counts as gone only when that is known. A look that fails, for want of
// a descriptor or memory, tells nothing, and the killing goes on.
//
// # One place each
//
// A child is started in fork (start.go) and its tree is found and killed by
// tree (tree_linux.go, process_other.go). Who makes a tree more than a session,
// changes those.
package process
