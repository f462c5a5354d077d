package main

import (
	"fmt"
	"os"
	"text/tabwriter"
)

// language says what each handler is written in.
var language = map[string]string{
	"checksum": "Python", "wordcount": "Go", "titlecase": "Node", "uppercase": "sh",
}

// report prints a line per kind and answers how many jobs are not as they should be.
func report(jobs []job, stored map[string]record) (wrong int) {
	type tally struct{ jobs, right, again int }
	byKind := map[string]*tally{}
	var order []string
	for _, j := range jobs {
		t := byKind[j.request.Kind]
		if t == nil {
			t = &tally{}
			byKind[j.request.Kind] = t
			order = append(order, j.request.Kind)
		}
		name := j.request.Kind + "/" + j.request.Key
		r, known := stored[name]
		t.jobs++
		if r.Attempt > 1 {
			t.again++
		}
		switch {
		case !known:
			fmt.Printf("%s: lost\n", name)
		case r.State != "done":
			fmt.Printf("%s: %s, %s\n", name, r.State, r.LastError)
		case !j.matches(r.Result):
			fmt.Printf("%s: %s is not the expected result\n", name, r.Result)
		default:
			t.right++
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "KIND\tHANDLER IN\tJOBS\tDONE AS EXPECTED\tCUT SHORT, RUN AGAIN")
	for _, kind := range order {
		t := byKind[kind]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", kind, language[kind], t.jobs, t.right, t.again)
		wrong += t.jobs - t.right
	}
	w.Flush()
	return wrong
}
