package sqlite

import "golang.org/x/sys/unix"

// Mounts reads the text of a mountinfo: device, place and type of each.
func Mounts(text string) (list [][3]string) {
	for _, m := range parseMounts(text) {
		list = append(list, [3]string{m.device, m.point, m.kind})
	}
	return list
}

// NetworkName is networkName for a file system that is of the type fuse, if it is
// one in user space.
func NetworkName(kind uint32, fuse string) string {
	return networkName(kind, func() string { return fuse })
}

// MountedType is fuseType by what is mounted now.
func MountedType(folder string) string { return fuseType(folder, readMounts()) }

// TakeForNetwork makes file systems like that of a folder count as one on a network.
func TakeForNetwork(folder string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return err
	}
	networkTypes[uint32(fs.Type)] = "wires"
	return nil
}
