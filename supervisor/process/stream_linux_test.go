package process_test

import (
	"io"
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
)

// What is written once the draining has begun is not read, however much of it
// there is.
func TestDrainEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	say := func(text string) {
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	stream := process.NewStream(r)
	say("standing")
	stream.DrainAvailable()
	first := make([]byte, 1)
	if _, err := stream.Read(first); err != nil {
		t.Fatal(err)
	}
	say(", too late")
	rest, err := io.ReadAll(stream)
	if got := string(first) + string(rest); got != "standing" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
