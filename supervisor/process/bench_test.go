package process_test

import (
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
)

// BenchmarkLife measures what a child costs from its start until it is gone.
func BenchmarkLife(b *testing.B) {
	for b.Loop() {
		child, err := process.Start(process.Spec{Argv: []string{"/bin/true"}})
		if err != nil {
			b.Fatal(err)
		}
		<-child.Exited()
		child.Kill()
		<-child.Gone()
		_ = child.Close()
	}
}
