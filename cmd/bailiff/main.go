// Command bailiff runs scripts as durable jobs on one machine: it enqueues,
// runs the service, shows what stands in the queue and lets a person decide.
//
// There is one file per command. This package finds the configuration and the
// database, wires the service together, and turns answers into sentences or
// JSON and errors into exit statuses. It decides nothing about a job: that is
// done in package queue, and by the supervisor for its runs.
package main

import "os"

func main() {
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
