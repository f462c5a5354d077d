package queue

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// maxPointer bounds, in bytes, the place that Difference names.
const maxPointer = 200

// atTop is the place of the whole value, whose pointer is empty.
const atTop = "the top"

// Difference names the first place, by sorted names, where two payloads differ:
// as a JSON pointer (RFC 6901) such as /to/0/name, cut to 200 bytes, or as "the
// top" where the values differ as a whole. A member or element that one of them
// lacks is such a place. Equal payloads answer "", texts that are no strict JSON
// "the top".
func Difference(a, b []byte) string {
	formA, errA := strictjson.Canonical(a)
	formB, errB := strictjson.Canonical(b)
	switch {
	case errA != nil || errB != nil:
		return atTop
	case bytes.Equal(formA, formB):
		return ""
	}
	place := firstDifference(
		jsontext.NewDecoder(bytes.NewBuffer(formA)),
		jsontext.NewDecoder(bytes.NewBuffer(formB)))
	if place == "" {
		return atTop
	}
	return CutText(string(place), maxPointer)
}

// firstDifference reads two canonical texts side by side.
func firstDifference(a, b *jsontext.Decoder) jsontext.Pointer {
	for {
		tokenA, errA := a.ReadToken()
		tokenB, errB := b.ReadToken()
		if errA == io.EOF || errB == io.EOF {
			return ""
		}
		kindA, kindB := tokenA.Kind(), tokenB.Kind()
		if kindA == kindB && tokenA.String() == tokenB.String() {
			continue
		}
		placeA, placeB := a.StackPointer(), b.StackPointer()
		switch {
		case kindA == '}' || kindA == ']': // only b goes on here
			return placeB
		case kindB == '}' || kindB == ']':
			return placeA
		case tokenB.String() < tokenA.String(): // of two names, the one that a lacks; of two values, the same place
			return placeB
		default:
			return placeA
		}
	}
}
