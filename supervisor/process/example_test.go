package process_test

import (
	"fmt"
	"log"

	"github.com/b1213022/bailiff/supervisor/process"
)

// A child's whole life: fed, read to its end, and ended with all that it started.
func ExampleStart() {
	child, err := process.Start(process.Spec{
		Argv: []string{"sh", "-c", `read -r name; sleep 600 & echo "Hello, $name"; exit 3`},
		Env:  []string{"PATH=/usr/bin:/bin"},
	})
	if err != nil {
		log.Fatal(err) // says in words why
	}
	defer child.Close()

	stdout := process.NewStream(child.Stdout)
	read := make(chan error)
	go func() {
		read <- process.Pump(stdout, 1024, func(line []byte, cut bool) { fmt.Printf("%s\n", line) })
	}()
	_, _ = child.Stdin.WriteString("Ann\n")

	<-child.Exited() // the shell; what it started lives on and holds the pipe
	child.Kill()
	<-child.Gone()
	stdout.DrainAvailable()
	<-read
	fmt.Println(child.Exit())
	// Output:
	// Hello, Ann
	// exit status 3
}
