package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Check answers nil if text is exactly one strict JSON value, white space around
// it allowed, in which at most maxDepth arrays and objects are open at any place:
// 50 nested brackets are 50 levels. Otherwise it answers a *DepthError or a
// *SyntaxError, whichever comes first in the text. It keeps nothing of text and
// needs no memory for its depth, however deep the text is.
func Check(text []byte, maxDepth int) error {
	dec := decoder(text)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return syntaxError(text, err)
		}
		switch depth := dec.StackDepth(); {
		case depth > maxDepth:
			return &DepthError{Limit: maxDepth, Offset: dec.InputOffset() - 1}
		case depth == 0:
			return end(text, dec)
		}
	}
}

// decoder reads text in place: given a bytes.Buffer, jsontext copies nothing.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text))
}

// end answers an error if anything but white space follows what dec has read.
func end(text []byte, dec *jsontext.Decoder) error {
	rest := bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	return &SyntaxError{Offset: int64(len(text) - len(rest)), Reason: "more text after the value"}
}
