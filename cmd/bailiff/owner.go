package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownedBy says whose a file is that this user may not use; where the file cannot be
// seen, whose the folder above it is that can. Empty where the system does not tell.
func ownedBy(path string) string {
	info, err := os.Stat(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	group := strconv.Itoa(int(stat.Gid))
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Sprintf("%s belongs to user %s, group %s (%s); you are %s",
		path, userName(int(stat.Uid)), group, info.Mode(), userName(os.Geteuid()))
}

// userName is the name of a user, or the number where there is none.
func userName(id int) string {
	number := strconv.Itoa(id)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}
