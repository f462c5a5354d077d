package process_test

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
	"golang.org/x/sys/unix"
)

// dynamic returns the bytes of a dynamically linked program of this system and
// the loader it names.
func dynamic(t *testing.T) (program []byte, loader string) {
	t.Helper()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Skipf("no program of this system to make one of: %v", err)
	}
	parsed, err := elf.Open(path)
	if err != nil {
		t.Skipf("%s is no ELF program, so no loader is named there: %v", path, err)
	}
	defer parsed.Close()
	section := parsed.Section(".interp")
	if section == nil {
		t.Skipf("%s is not dynamically linked", path)
	}
	text, err := section.Data()
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program, string(bytes.TrimRight(text, "\x00"))
}

func TestProgramOfAnotherSystem(t *testing.T) {
	t.Parallel()
	program, loader := dynamic(t)
	missing := loader[:len(loader)-1] + "~"
	file := put(t, t.TempDir()+"/h", string(bytes.Replace(program, []byte(loader), []byte(missing), 1)))
	want := file + ": was built for another system: its loader " + missing + " does not exist here"
	_, err := process.Start(process.Spec{Argv: []string{file}})
	refused(t, "Start", err, want)
	refused(t, "Diagnose", process.Diagnose([]string{file}, "", ""), want)
}

func TestProgramForAnotherMachine(t *testing.T) {
	t.Parallel()
	program, _ := dynamic(t)
	program[18], program[19] = byte(elf.EM_S390), 0 // e_machine, see elf(5)
	file := put(t, t.TempDir()+"/h", string(program))
	_, err := process.Start(process.Spec{Argv: []string{file}})
	refused(t, "Start", err, file+": is a program for another machine (EM_S390)")
}

func TestMountedNoExec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_NOEXEC, ""); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	defer func() {
		// Lazily: a child that is just being forked may hold a file of it until its exec.
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	put(t, dir+"/h", "#!/bin/sh\n")
	want := dir + "/h: lies on a file system that is mounted noexec"
	_, err := process.Start(process.Spec{Argv: []string{dir + "/h"}})
	refused(t, "Start", err, want)
	refused(t, "Diagnose", process.Diagnose([]string{"./h"}, dir, ""), want)
}

// limitDescriptors lets this process open no descriptor from number most on.
func limitDescriptors(most uint64) (restore func()) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		fail("%v", err)
	}
	set := func(limit unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			fail("%v", err)
		}
	}
	set(unix.Rlimit{Cur: most, Max: limit.Max})
	return func() { set(limit) }
}

// With no descriptors left nothing is started and nothing is leaked.
func noDescriptors([]string) {
	spawn() // the poller comes with the first
	before := openDescriptors()
	restore := limitDescriptors(uint64(before) + 2)
	_, err := process.Start(process.Spec{Argv: []string{"/bin/true"}})
	restore()
	if err == nil || !strings.HasSuffix(err.Error(), "no descriptors left for its pipes (ulimit -n)") {
		fail("Start says %v", err)
	}
	if now := openDescriptors(); now != before {
		fail("%d descriptors before, %d after", before, now)
	}
}

// With no descriptors left a tree is still found and killed, and is not called
// gone before that is known: its member in a group of its own is reached only
// through a look at /proc.
func noDescriptorsToKill([]string) {
	child, err := process.Start(self("leave-a-group"))
	if err != nil {
		fail("start: %v", err)
	}
	line, err := bufio.NewReader(child.Stdout).ReadString('\n')
	if err != nil {
		fail("read the member's pid: %v", err)
	}
	member := number(strings.TrimSpace(line))
	<-child.Exited()
	restore := limitDescriptors(3)
	left := child.Left()
	child.Kill()
	<-child.Gone()
	restore()
	if !slices.Equal(left, []int{member}) {
		fail("Left() = %v, want the member %d", left, member)
	}
	if !ended(member) {
		fail("gone, but the member %d lives", member)
	}
}
