package strictjson

import "bytes"

// Compact appends text to dst without the white space outside its strings, so
// that it fits one line; strings and numbers stay byte for byte as written. The
// text must have passed Check; of another it drops the same bytes and makes no
// promise. dst and text must not overlap.
func Compact(dst, text []byte) []byte {
	for len(text) > 0 {
		n := bytes.IndexAny(text, " \t\r\n\"")
		if n < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:n]...)
		if text[n] != '"' {
			text = text[n+1:]
			continue
		}
		length := stringLength(text[n:])
		dst = append(dst, text[n:n+length]...)
		text = text[n+length:]
	}
	return dst
}

// stringLength is the number of bytes of the JSON string that text begins with,
// both quotes included; all of text if its closing quote is missing.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
