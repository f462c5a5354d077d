// Package shellword writes words as one types them into a shell, for the commands
// that messages advise.
package shellword

import "strings"

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%="

// Quote is a word, such as a path, in the form that a POSIX shell reads as this word
// and nothing else. One that needs no quotes gets none.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
