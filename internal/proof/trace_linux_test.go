package proof

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
)

// The kinds of records in a trace; see testdata/shim.c. The words that were given
// stand among them, written by the program itself.
const (
	opCreated  = 'C'
	opWritten  = 'W'
	opCut      = 'T'
	opSyncing  = 'B'
	opSynced   = 'S'
	opUnsynced = 'F'
	opRemoved  = 'U'
	opWord     = 'A'
)

// op is a record of a trace.
type op struct {
	kind  byte
	a     int64 // offset, size, or number of a sync
	inode uint64
	data  []byte // or a name
}

const headLength = 5 * 8

func readTrace(path string) (ops []op, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for len(text) > 0 {
		if len(text) < headLength {
			return nil, fmt.Errorf("%s: %d bytes are left over", path, len(text))
		}
		n := binary.NativeEndian.Uint64(text)
		ops = append(ops, op{
			kind: byte(binary.NativeEndian.Uint64(text[8:])), a: int64(binary.NativeEndian.Uint64(text[16:])),
			inode: binary.NativeEndian.Uint64(text[32:]), data: text[headLength:n:n],
		})
		text = text[n:]
	}
	return ops, nil
}

// teller appends words to a trace, each in one write.
type teller struct{ f *os.File }

func openTeller(path string) (teller, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return teller{f}, err
}

func (t teller) say(w word) {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	record := make([]byte, headLength, headLength+len(text))
	binary.NativeEndian.PutUint64(record, uint64(headLength+len(text)))
	binary.NativeEndian.PutUint64(record[8:], opWord)
	if _, err := t.f.Write(append(record, text...)); err != nil {
		panic(err)
	}
}
