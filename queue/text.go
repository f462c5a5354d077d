package queue

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cutMark is what a text ends with that was cut.
const cutMark = "… (truncated)"

// CutText makes valid UTF-8 of s, in at most most bytes. Bytes that are none are
// kept in sight as \xNN; a text that is too long is cut before a character and
// marked, within the bound. Where not even the mark has room, there is none. The
// cost depends on the bound, not on s, however long it is.
func CutText(s string, most int) string {
	if len(s) <= most && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	whole := 0 // bytes of out that leave room for the mark
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		if r == utf8.RuneError && size == 1 {
			piece = fmt.Sprintf(`\x%02x`, s[i])
		}
		if out.Len()+len(piece) > most {
			if most < len(cutMark) {
				return out.String()
			}
			return out.String()[:whole] + cutMark
		}
		out.WriteString(piece)
		if out.Len() <= most-len(cutMark) {
			whole = out.Len()
		}
		i += size
	}
	return out.String()
}
