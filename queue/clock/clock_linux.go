package clock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Mono is CLOCK_MONOTONIC without the offset that a time namespace adds to it
// (time_namespaces(7)), so that processes in different containers of one
// machine agree.
func (system) Mono() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// clock_gettime(2) fails only for a bad clock or address.
		panic("clock: CLOCK_MONOTONIC: " + err.Error())
	}
	offset, _ := namespaceOffset() // without it, Boot is empty
	return time.Duration(ts.Nano()) - offset
}

// Boot is the kernel's random id of this boot (random(4)). It is empty where the
// offset of the time namespace cannot be read: then Mono is not what other
// processes of this boot read.
func (system) Boot() string { return bootID() }

var bootID = sync.OnceValue(func() string {
	if _, err := namespaceOffset(); err != nil {
		return ""
	}
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})

// namespaceOffset is what this process's time namespace adds to the monotonic
// clock. A process cannot change its own offset once it runs, so one reading
// is enough.
var namespaceOffset = sync.OnceValues(func() (time.Duration, error) {
	return readOffset("/proc/self/timens_offsets")
})

// readOffset reads the offset from a file of lines of "clock seconds nanoseconds".
// Older kernels print the clock as a number: 1 is CLOCK_MONOTONIC. Kernels without
// time namespaces have no such file: no offset.
func readOffset(path string) (time.Duration, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "monotonic" && f[0] != "1" {
			continue
		}
		if len(f) != 3 {
			return 0, fmt.Errorf("%s: %q is no clock with seconds and nanoseconds", path, line)
		}
		sec, err1 := strconv.ParseInt(f[1], 10, 64)
		nsec, err2 := strconv.ParseInt(f[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		return time.Duration(sec)*time.Second + time.Duration(nsec), nil
	}
	return 0, fmt.Errorf("%s names no monotonic clock", path)
}
