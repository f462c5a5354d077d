package queuetest_test

import (
	"testing"

	"github.com/b1213022/bailiff/queue/queuetest"
)

// The suite asks for no engine's habits: the reference passes it too.
func TestModelKeepsTheRules(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Model{})
}
