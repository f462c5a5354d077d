package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

func TestPayloadsInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string // empty: refused
	}{
		{nil, `{}`},
		{[]string{`{"a": 1.0}`}, `{"a": 1.0}`},
		{[]string{`[1]`}, `[1]`},
		{[]string{"to=ann"}, `{"to":"ann"}`},
		{[]string{"to=a=b", "n:=9007199254740993"}, `{"to":"a=b","n":9007199254740993}`},
		{[]string{`say="hi"`, "empty="}, `{"say":"\"hi\"","empty":""}`},
		{[]string{`deep:={"x": [1, 2]}`}, `{"deep":{"x": [1, 2]}}`},
		{[]string{"at=@file"}, `{"at":"@file"}`},
		{[]string{"a=1", "a=2"}, ""},
		{[]string{"n:=oops"}, ""},
		{[]string{"n:="}, ""},
		{[]string{"a=1", `{"b":2}`}, ""},
		{[]string{"a=\xff"}, ""},
		{[]string{"@/nowhere/at/all"}, ""},
	} {
		got, err := (&app{in: input{ctx: t.Context()}}).payload(c.args)
		switch {
		case c.want == "" && !errors.Is(err, queue.ErrInvalid):
			t.Errorf("%q gives %s, %v; want it refused", c.args, got, err)
		case c.want != "" && (err != nil || string(got) != c.want):
			t.Errorf("%q gives %s, %v; want %s", c.args, got, err, c.want)
		}
	}
}

func TestPayloadFromStdinIsBounded(t *testing.T) {
	t.Parallel()
	a := &app{in: input{t.Context(), strings.NewReader(`{"x":1}` + "\n")}}
	if got, err := a.payload([]string{"-"}); err != nil || string(got) != `{"x":1}` {
		t.Errorf("got %s, %v", got, err)
	}
	a = &app{in: input{t.Context(), strings.NewReader(strings.Repeat(" ", maxValueText+1))}}
	if _, err := a.payload([]string{"-"}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("too much on stdin: %v", err)
	}
}
