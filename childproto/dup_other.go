//go:build unix && !linux

package childproto

import "syscall"

// duplicate makes descriptor to another name of from.
func duplicate(from, to int) error { return syscall.Dup2(from, to) }
