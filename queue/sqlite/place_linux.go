package sqlite

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// networkTypes are the kinds of file systems, by f_type of statfs(2), that other
// machines may write to as well.
var networkTypes = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.SMB2_SUPER_MAGIC:  "smb2",
	unix.NCP_SUPER_MAGIC:   "ncp",
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.AFS_FS_MAGIC:      "afs",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.V9FS_MAGIC:        "9p",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	0x01161970:             "gfs2",
	0x0bd00bd0:             "lustre",
	0x47504653:             "gpfs",
	0x19830326:             "beegfs",
}

// networkFUSE are the file systems in user space that lead to other machines, as
// mountinfo calls them. Any other, such as one of an encrypted folder, is local.
var networkFUSE = []string{
	"fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.ceph", "fuse.ceph-fuse", "fuse.mfs", "fuse.lizardfs",
	"fuse.juicefs", "fuse.seaweedfs", "fuse.weed", "fuse.gcsfuse", "fuse.goofys", "fuse.mountpoint-s3", "fuse.blobfuse",
	"fuse.blobfuse2", "fuse.davfs", "fuse.davfs2", "fuse.curlftpfs", "fuse.smbnetfs", "fuse.gvfsd-fuse", "fuse.afpfs", "fuse.beegfs",
	"fuse.lustre", "fuse.nfs", "fuse.cvmfs", "fuse.google-drive-ocamlfuse", "fuse.onedriver", "fuse.hdfs", "fuse.fuse_dfs", "fuse.s3ql",
}

// checkMounts refuses a database that is a mount point by itself, or beside which
// one of SQLite's files is.
func checkMounts(path string) error {
	mounts := readMounts()
	for _, side := range append([]string{""}, sideFiles...) {
		if slices.ContainsFunc(mounts, func(m mount) bool { return m.point == path+side }) {
			return refuse("%s is a mount point by itself: seen from elsewhere the file has another name, SQLite would keep a log of its own for each, "+
				"and what is written under one name would be lost under the other. Mount the folder instead of the file", path+side)
		}
	}
	return nil
}

// checkFileSystem refuses a folder on a network file system, unless insisted on.
func checkFileSystem(folder string, networkFS bool) error {
	if networkFS {
		return nil
	}
	name, err := networkOf(folder)
	if err != nil {
		return err
	}
	if name != "" {
		return refuse("%s is on a network file system (%s): there SQLite's locks and its shared memory may not work, and jobs could be lost or run twice. "+
			"Move the database to a local disk; or, if no other machine ever opens it and the server keeps locks, insist on it with --network-fs, or network_fs = true in the configuration",
			folder, name)
	}
	return nil
}

// networkOf is what the network file system is called that a folder is on; empty for
// a local one.
func networkOf(folder string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return "", fmt.Errorf("file system of %s: %w", folder, err)
	}
	return networkName(uint32(fs.Type), func() string { return fuseType(folder, readMounts()) }), nil
}

// networkName is what a network file system is called; empty for a local one. fuse
// tells the type of one in user space.
func networkName(kind uint32, fuse func() string) string {
	if kind != unix.FUSE_SUPER_MAGIC {
		return networkTypes[kind]
	}
	if name := fuse(); slices.Contains(networkFUSE, name) {
		return name
	}
	return ""
}

// fuseType is what mountinfo says about the file system that a folder is on.
func fuseType(folder string, mounts []mount) string {
	var st unix.Stat_t
	if err := unix.Stat(folder, &st); err != nil {
		return ""
	}
	device := fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	for _, m := range mounts {
		if m.device == device {
			return m.kind
		}
	}
	return ""
}
