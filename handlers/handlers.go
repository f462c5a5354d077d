// Package handlers carries the handler that `bailiff init` writes into a new
// place. The others in this folder are found there by a checkout's config.hcl.
package handlers

import _ "embed"

// Hello is a first handler: a plain sh script that greets.
//
//go:embed hello.sh
var Hello []byte
