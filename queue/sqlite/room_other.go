//go:build unix && !linux && !darwin && !dragonfly && !freebsd

package sqlite

import "errors"

// freeIn is what a process without privileges can still write in a folder, in
// bytes.
func freeIn(string) (int64, error) { return 0, errors.ErrUnsupported }
