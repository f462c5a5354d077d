package childproto_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/b1213022/bailiff/childproto"
)

// A whole handler: the function is called for each job, in whichever protocol
// the configuration chose.
func ExampleMain() {
	childproto.Main(func(ctx context.Context, task *childproto.Task) (any, error) {
		var payload struct {
			Text string `json:"text"`
		}
		if err := task.Decode(&payload); err != nil {
			return nil, err // dead: the payload will not get better
		}
		return strings.ToUpper(payload.Text), nil
	})
}

// An error that names an outcome may be wrapped; the reason is the whole text.
func ExampleRetry() {
	err := fmt.Errorf("call provider: %w", childproto.Retry("429 Too Many Requests", time.Minute))
	fmt.Println(err)
	// Output: call provider: 429 Too Many Requests
}

// What a supervisor does with the lines of a child.
func ExampleReader() {
	stdout := strings.NewReader("Loading model…\n" + `{"type":"done","id":17,"result":42}` + "\n")
	lines := childproto.NewReader(stdout)
	for {
		line, err := lines.Next()
		if err != nil {
			break // io.EOF: the child has ended, or closed its stdout
		}
		if line.Stray {
			fmt.Printf("print: %s\n", line.Text)
			continue
		}
		m, err := childproto.ParseMessage(line.Text)
		if err != nil {
			fmt.Println("broken protocol:", err)
			break
		}
		if outcome, ok := m.Outcome(); ok {
			fmt.Printf("job %d: %s, result %s\n", m.ID, outcome.Is, outcome.Result)
		}
	}
	// Output:
	// print: Loading model…
	// job 17: done, result 42
}
