#!/bin/sh
# uppercase: {"text":"hello"} gives {"text":"HELLO"}.
#
# A plain handler in what every Linux has: sh, grep, awk, sed. It answers with
# right JSON for any text, because it never touches an escape by accident:
#   1. grep puts one token of the payload on each line, strings whole;
#   2. awk takes the string after "text": on the first level and turns each escape
#      into a mark and four hex digits, or into the letter that it stands for;
#   3. sed makes the rest capitals and the marks escapes again.
# The mark is the byte 1, which JSON allows in no string.
# Letters beyond a to z need GNU sed; with another they stay as they are.
set -eu
mark=$(printf '\001')

text=$(tr '\n' ' ' | LC_ALL=C grep -aoE '"([^"\\]|\\.)*"|[][{}:,]' | LC_ALL=C awk -v mark="$mark" '
	function number(hex,    i, n) {
		for (i = 1; i <= 4; i++) n = n * 16 + index("0123456789abcdef", tolower(substr(hex, i, 1))) - 1
		return n
	}
	function letter(hex,    n) { # as UTF-8; half a surrogate pair and what is no letter stay an escape
		n = number(hex)
		if (n >= 55296 && n <= 57343 || n < 65 || n > 122 && n < 128) return mark hex
		if (n == 92) return mark hex
		if (n < 128) return sprintf("%c", n)
		if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
		return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
	}
	function show(string,    part, parts, i, c) {
		parts = split(substr(string, 2, length(string) - 2), part, "\\")
		printf "%s", part[1]
		for (i = 2; i <= parts; i++) {
			c = substr(part[i], 1, 1)
			if (c == "") printf "%s005C%s", mark, part[++i] # \\: what follows is text
			else if (c == "u") printf "%s%s", letter(substr(part[i], 2, 4)), substr(part[i], 6)
			else printf "%s%s", (c in code ? mark code[c] : c), substr(part[i], 2)
		}
	}
	BEGIN { code["\""] = "0022"; code["b"] = "0008"; code["f"] = "000C"; code["n"] = "000A"; code["r"] = "000D"; code["t"] = "0009" }
	/^[{[]$/ { depth++ }
	/^[]}]$/ { depth-- }
	depth == 1 && before == ":" && key == "\"text\"" && /^"/ { found = 1; show($0) }
	$0 == ":" { key = before }
	{ before = $0 }
	END { if (!found) exit 65 }
') || {
	echo 'payload: {"text":"…"} is expected' >&2
	exit 65 # dead: it will not get better
}

if [ "$(printf 'é' | LC_ALL=C.UTF-8 sed 's/.*/\U&/' 2>/dev/null)" = É ]; then
	capitals() { LC_ALL=C.UTF-8 sed 's/.*/\U&/'; }
else
	capitals() { LC_ALL=C tr '[:lower:]' '[:upper:]'; }
fi
text=$(printf '%s\n' "$text" | capitals | LC_ALL=C sed -e "s/${mark}000A/\\\\n/g" -e "s/${mark}0022/\\\\\"/g" -e "s/${mark}005C/\\\\\\\\/g" -e "s/$mark/\\\\u/g")
printf '{"text":"%s"}\n' "$text"
