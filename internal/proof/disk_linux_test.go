package proof

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
)

// A disk is what a folder holds, and what of it would be there after the power
// had failed: all that was synced, and of the rest anything. Writes may be
// missing, come before earlier ones, or be torn at the borders of sectors, and a
// sector may hold anything where it was just being written, but the first of a file,
// which is written whole or not at all. Sizes and truncations may be missing, and
// names, until the folder is synced. As SQLite takes for granted, bytes beside those
// that are written stay as they were (https://www.sqlite.org/psow.html). After a sync that failed, no later one brings
// to the disk what it was about: the kernel takes the pages for clean.
type disk struct {
	folder uint64 // its inode
	files  map[uint64]*file
	names  map[string][]naming // the first is durable
	marks  map[int64]int       // number of changes when a sync began
	seq    int                 // changes so far

	// What this disk does not honour, to see that it is found.
	ignore func(name string) bool
}

// naming is what a name stands for since a change; inode 0: nothing.
type naming struct {
	inode uint64
	seq   int
}

type file struct {
	name    string
	live    []byte // as programs see it
	durable []byte
	changes []change // after that, in order
}

// change is a write, or a truncation where cut is set.
type change struct {
	seq    int
	at     int64
	data   []byte
	cut    bool
	doubt  bool // the sync of it failed
	secure bool // it was synced, but stands behind one in doubt
}

const sector = 512

// newDisk is a folder with one file, all of it durable.
func newDisk(folder uint64, name string, inode uint64, content []byte) *disk {
	return &disk{
		folder: folder, marks: map[int64]int{},
		files: map[uint64]*file{inode: {name: name, live: slices.Clone(content), durable: slices.Clone(content)}},
		names: map[string][]naming{name: {{inode: inode}}},
	}
}

// passing reports whether a file holds nothing that outlives the power.
func passing(name string) bool { return strings.HasSuffix(name, "-shm") }

// do makes one recorded call.
func (d *disk) do(o op) {
	d.seq++
	switch o.kind {
	case opCreated:
		name := string(o.data)
		if passing(name) {
			return
		}
		d.files[o.inode] = &file{name: name}
		d.rename(name, o.inode)
	case opRemoved:
		if name := string(o.data); !passing(name) {
			d.rename(name, 0)
		}
	case opWritten, opCut:
		if f := d.files[o.inode]; f != nil {
			c := change{seq: d.seq, at: o.a, data: o.data, cut: o.kind == opCut}
			f.live = c.apply(f.live)
			f.changes = append(f.changes, c)
		}
	case opSyncing:
		d.marks[o.a] = d.seq
	case opSynced:
		d.sync(o.inode, d.marks[o.a])
	case opUnsynced:
		if f := d.files[o.inode]; f != nil {
			for i := range f.changes {
				c := &f.changes[i]
				c.doubt = c.doubt || c.seq < d.marks[o.a] && !c.secure
			}
		}
	}
}

func (d *disk) rename(name string, inode uint64) {
	if d.names[name] == nil {
		d.names[name] = []naming{{}}
	}
	d.names[name] = append(d.names[name], naming{inode, d.seq})
}

// sync makes durable what had been done to a file, or to the names of the folder,
// before a moment.
func (d *disk) sync(inode uint64, before int) {
	if inode == d.folder {
		if d.ignored("") {
			return
		}
		for name, list := range d.names {
			for len(list) > 1 && list[1].seq < before {
				list = list[1:]
			}
			d.names[name] = list
		}
		return
	}
	f := d.files[inode]
	if f == nil || d.ignored(f.name) {
		return
	}
	for i := range f.changes {
		c := &f.changes[i]
		c.secure = c.secure || c.seq < before && !c.doubt
	}
	n := 0
	for n < len(f.changes) && f.changes[n].secure {
		f.durable = f.changes[n].apply(f.durable)
		n++
	}
	f.changes = f.changes[n:]
}

func (d *disk) ignored(name string) bool { return d.ignore != nil && d.ignore(name) }

// named reports whether all names are durable.
func (d *disk) named() bool {
	for _, list := range d.names {
		if len(list) > 1 {
			return false
		}
	}
	return true
}

// apply makes the change to a file of that content.
func (c *change) apply(content []byte) []byte {
	if c.cut {
		return sized(content, c.at)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(content)) {
		content = sized(content, end)
	}
	copy(content[c.at:], c.data)
	return content
}

func sized(content []byte, n int64) []byte {
	if n <= int64(len(content)) {
		return content[:n:n] // or the bytes behind would come back when it grows
	}
	return append(content, make([]byte, n-int64(len(content)))...)
}

// live is what programs find in the folder.
func (d *disk) now() map[string][]byte {
	all := map[string][]byte{}
	for name, list := range d.names {
		if inode := list[len(list)-1].inode; inode != 0 {
			all[name] = d.files[inode].live
		}
	}
	return all
}

// afterPowerLoss is what is found when the power comes back, by chance.
func (d *disk) afterPowerLoss(chance *rand.Rand) map[string][]byte {
	all := map[string][]byte{}
	for name, list := range d.names {
		inode := list[chance.IntN(len(list))].inode
		if inode != 0 {
			all[name] = d.files[inode].afterPowerLoss(chance)
		}
	}
	return all
}

func (f *file) afterPowerLoss(chance *rand.Rand) []byte {
	content := bytes.Clone(f.durable)
	survives := survival(chance, len(f.changes))
	for i, c := range f.changes {
		for _, part := range c.parts() {
			switch {
			case c.secure || survives(i):
				content = part.apply(content)
			case part.at >= sector && !part.cut && chance.IntN(50) == 0 && part.at+int64(len(part.data)) <= int64(len(content)):
				for k := range part.data { // the power went while it was written
					content[part.at+int64(k)] = byte(chance.Uint32())
				}
			}
		}
	}
	return content
}

// survival draws which of n changes survive; it is asked for each of their sectors.
func survival(chance *rand.Rand, n int) func(i int) bool {
	limit, p := chance.IntN(n+1), chance.Float64()
	whole := make([]bool, n)
	for i := range whole {
		whole[i] = chance.Float64() < p
	}
	switch chance.IntN(6) {
	case 0:
		return func(int) bool { return false }
	case 1:
		return func(int) bool { return true }
	case 2: // in order, the last one torn
		return func(i int) bool { return i < limit || i == limit && chance.IntN(2) == 0 }
	case 3: // only the later ones
		return func(i int) bool { return i >= limit }
	case 4:
		return func(i int) bool { return whole[i] }
	default: // each sector for itself
		return func(int) bool { return chance.Float64() < p }
	}
}

// parts are the sectors of a write.
func (c *change) parts() (all []change) {
	if c.cut {
		return []change{*c}
	}
	for at, data := c.at, c.data; len(data) > 0; {
		n := min(sector-at%sector, int64(len(data)))
		all = append(all, change{at: at, data: data[:n]})
		at, data = at+n, data[n:]
	}
	return all
}
