package childproto

import "syscall"

// duplicate makes descriptor to another name of from. Dup2 is missing on some
// of Linux's architectures.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
