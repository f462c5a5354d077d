package sqlite

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	device string // major:minor
	point  string // where it is mounted
	kind   string // such as ext4 or fuse.sshfs
}

// readMounts answers what is mounted; nothing where the system does not tell.
func readMounts() []mount {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMounts(string(text))
}

func parseMounts(text string) (mounts []mount) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		// Any number of optional fields stands before the hyphen.
		end := slices.Index(f, "-")
		if end < 6 || end+1 >= len(f) {
			continue
		}
		mounts = append(mounts, mount{device: f[2], point: unescapeOctal(f[4]), kind: f[end+1]})
	}
	return mounts
}

// unescapeOctal reads names in which blanks, among others, are written as \040.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
