package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue/sqlite"
)

// A single file that is mounted has another name elsewhere.
func TestMountedFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"", "-wal", "-shm"} {
		t.Run("q.db"+side, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), `q .db`) // mountinfo escapes the blank
			newDatabase(t, path)
			if side != "" {
				if err := os.WriteFile(path+side, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Mount(path+side, path+side, "", unix.MS_BIND, ""); err != nil {
				t.Skipf("needs the right to mount: %v", err)
			}
			refusesPlace(t, path, path+side+" is a mount point by itself", "Mount the folder")
			if err := unix.Unmount(path+side, 0); err != nil {
				t.Fatal(err)
			}
			opensAt(t, path)
		})
	}
}

// The other names are looked for where they can be: on the file's own file system.
func TestSecondNameOnAMountedFileSystem(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "40m")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a", "b", "q.db")
	newDatabase(t, path)
	link(t, path, filepath.Join(dir, "other.db"))
	refusesPlace(t, path, "find "+dir+" -xdev -samefile "+path)
}

// A folder that is mounted is the usual thing.
func TestMountedFolderIsFine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(smallDisk(t, "2m"), "q.db")
	newDatabase(t, path)
	opensAt(t, path)
}

func TestMountsAreRead(t *testing.T) {
	t.Parallel()
	const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
35 22 0:31 / /mnt/two\040words rw shared:7 master:1 - fuse.sshfs me@host:/ rw,user_id=0
36 22 0:32 /a\134b /mnt/back\134slash\011 rw - tmpfs tmpfs rw
not a mount
`
	got := sqlite.Mounts(text)
	want := [][3]string{
		{"254:0", "/", "ext4"}, {"0:31", "/mnt/two words", "fuse.sshfs"}, {"0:32", "/mnt/back\\slash\t", "tmpfs"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestNetworkFileSystemsAreKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind uint32
		fuse string
		want string
	}{
		{unix.EXT4_SUPER_MAGIC, "", ""},
		{unix.TMPFS_MAGIC, "", ""},
		{unix.OVERLAYFS_SUPER_MAGIC, "", ""},
		{unix.NFS_SUPER_MAGIC, "", "nfs"},
		{unix.CIFS_SUPER_MAGIC, "", "cifs"},
		{unix.SMB2_SUPER_MAGIC, "", "smb2"},
		{unix.V9FS_MAGIC, "", "9p"},
		{unix.CEPH_SUPER_MAGIC, "", "ceph"},
		{unix.FUSE_SUPER_MAGIC, "fuse.sshfs", "fuse.sshfs"},
		{unix.FUSE_SUPER_MAGIC, "fuse.rclone", "fuse.rclone"},
		{unix.FUSE_SUPER_MAGIC, "fuse.gocryptfs", ""},
		{unix.FUSE_SUPER_MAGIC, "fuseblk", ""},
		{unix.FUSE_SUPER_MAGIC, "", ""}, // the system does not tell
	} {
		if got := sqlite.NetworkName(c.kind, c.fuse); got != c.want {
			t.Errorf("%#x %s: got %q, want %q", c.kind, c.fuse, got, c.want)
		}
	}
}

// The type of a file system in user space is looked up by its device.
func TestFileSystemOfAFolderIsFound(t *testing.T) {
	t.Parallel()
	if got := sqlite.MountedType(smallDisk(t, "1m")); got != "tmpfs" {
		t.Errorf("got %q", got)
	}
}
