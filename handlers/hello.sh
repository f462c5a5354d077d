#!/bin/sh
# hello: {"name":"Ann"} gives "Hello, Ann!"; no name greets the world.
#
# A plain handler: the payload on stdin, JSON on stdout is the result, exit 0 is
# done. Where jq is installed, this is all of it:
#   jq '"Hello, \(.name // "world")!"'
# Without jq: grep puts one token on each line, a string whole and as it was
# written; awk looks for the string after "name": on the first level. Its escapes
# are not touched, so what was right in one JSON text is right in another.
set -eu

name=$(tr '\n' ' ' | LC_ALL=C grep -aoE '"([^"\\]|\\.)*"|[][{}:,]' | LC_ALL=C awk '
	/^[{[]$/ { depth++ }
	/^[]}]$/ { depth-- }
	depth == 1 && before == ":" && key == "\"name\"" && /^"/ { print substr($0, 2, length($0) - 2) }
	$0 == ":" { key = before }
	{ before = $0 }
')
printf '"Hello, %s!"\n' "${name:-world}"
