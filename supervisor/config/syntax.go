package config

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// mostRepairs bounds how many mistakes of syntax are told at once.
const mostRepairs = 30

// parse reads HCL. What the parser says about the mistakes that people really
// make is told in our own words, and the lines they stand on are put aside, so
// that the rest of the file is checked too: a body is returned whenever it can
// be trusted but for those lines.
func parse(text []byte, file string) (body *hclsyntax.Body, list []Diagnostic, aside map[int]bool) {
	aside = map[int]bool{}
	for {
		parsed, problems := hclsyntax.ParseConfig(text, file, hcl.InitialPos)
		tokens, _ := hclsyntax.LexConfig(text, file, hcl.InitialPos)
		if len(aside) == 0 && empty(tokens) {
			return nil, []Diagnostic{{File: file, Summary: "the file is empty",
				Detail: "is it still being written? A configuration of defaults alone holds at least a comment"}}, aside
		}
		body, _ = parsed.Body.(*hclsyntax.Body)
		var twice []Diagnostic
		var first *hcl.Diagnostic
		for _, problem := range problems {
			switch d, ok := explainTwice(body, problem, text, file); {
			case problem.Severity != hcl.DiagError:
			case ok:
				twice = append(twice, d)
			case first == nil || start(problem) < start(first):
				first = problem
			}
		}
		if first == nil {
			return body, append(list, twice...), aside
		}
		d, contained := explainSyntax(first, tokens, file)
		list = append(list, d)
		if !contained || aside[d.Line] || len(list) == mostRepairs {
			return nil, list, aside
		}
		aside[d.Line] = true
		text = putAside(text, d.Line)
	}
}

func start(problem *hcl.Diagnostic) int {
	if problem.Subject == nil {
		return 0
	}
	return problem.Subject.Start.Byte
}

// putAside makes a line harmless: a setting keeps its name and loses its value,
// anything else goes.
func putAside(text []byte, line int) []byte {
	lines := bytes.Split(text, []byte("\n"))
	name, _, set := bytes.Cut(lines[line-1], []byte("="))
	if set && hclsyntax.ValidIdentifier(string(bytes.TrimSpace(name))) {
		lines[line-1] = append(bytes.Clone(name), "= null"...)
	} else {
		lines[line-1] = nil
	}
	return bytes.Join(lines, []byte("\n"))
}

// empty reports whether the text says nothing at all, not even in a comment:
// what a file looks like between being truncated and being written.
func empty(tokens hclsyntax.Tokens) bool {
	for _, t := range tokens {
		if t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenEOF {
			return false
		}
	}
	return true
}

// explainTwice recognises the parser's complaint about a setting that stands
// twice in one body: it points at a name that the body holds elsewhere.
func explainTwice(body *hclsyntax.Body, problem *hcl.Diagnostic, text []byte, file string) (Diagnostic, bool) {
	if body == nil || problem.Subject == nil || !problem.Subject.CanSliceBytes(text) {
		return Diagnostic{}, false
	}
	for inner := body; inner != nil; {
		body, inner = inner, nil
		for _, block := range body.Blocks {
			if block.Body.SrcRange.Overlaps(*problem.Subject) {
				inner = block.Body
			}
		}
	}
	name := string(problem.Subject.SliceBytes(text))
	first := body.Attributes[name]
	if first == nil || first.NameRange == *problem.Subject {
		return Diagnostic{}, false
	}
	here := place{file, problem.Subject.Start.Line}
	there := place{file, first.NameRange.Start.Line}
	return here.diagnose(fmt.Sprintf("%s is set twice", name), fmt.Sprintf("first at %s; keep one of them", there)), true
}

// explainSyntax finds in the tokens of the line what the parser stumbled over.
// It is contained if the rest of the file makes sense without that line.
func explainSyntax(problem *hcl.Diagnostic, tokens hclsyntax.Tokens, file string) (d Diagnostic, contained bool) {
	here := place{file, 1}
	if problem.Subject != nil {
		here.line = problem.Subject.Start.Line
	}
	if at, ok := commentInTemplate(tokens, here.line); ok {
		here.line = at
		return here.diagnose("${# begins HCL's own ${…}", "write $${# for what shells mean by it"), true
	}
	line := onLine(tokens, here.line)
	if d, ok := explainToken(here, line, start(problem)); ok {
		return d, true
	}
	if d, ok := explainOneLine(here, line); ok {
		return d, line[len(line)-1].Type == hclsyntax.TokenCBrace
	}
	if d, ok := explainSeparator(here, line); ok {
		return d, true
	}
	if last := len(line) - 1; last >= 0 && line[0].Type == hclsyntax.TokenIdent {
		switch {
		case last == 1 && line[1].Type == hclsyntax.TokenEqual:
			return here.diagnose(fmt.Sprintf("%s has no value", line[0].Bytes), "write one after the =, on this line"), true
		case line[last].Type == hclsyntax.TokenOBrace && problem.Subject != nil && line[last].Range == *problem.Subject:
			return here.diagnose("the { on this line is never closed", "a } is missing below"), false
		case last == 3 && line[3].Type == hclsyntax.TokenCQuote:
			return here.diagnose("a block begins with its name and { on one line", fmt.Sprintf("write %s %q {", line[0].Bytes, line[2].Bytes)), false
		case last == 0:
			return here.diagnose(fmt.Sprintf("%s is neither set with = nor a block", line[0].Bytes),
				fmt.Sprintf("write %s = …, or put the { of its block on this line", line[0].Bytes)), false
		}
	}
	return here.diagnose("not understood: "+lowerFirst(strings.TrimSuffix(problem.Summary, ".")),
		lowerFirst(strings.TrimSuffix(problem.Detail, "."))), false
}

// explainToken finds a token that is a mistake wherever it stands, or the
// template in which the parser stopped, at is where.
func explainToken(here place, line hclsyntax.Tokens, at int) (Diagnostic, bool) {
	var template hclsyntax.TokenType // that is open at at
	for i, t := range line {
		switch t.Type {
		case hclsyntax.TokenApostrophe:
			return here.diagnose("single quotes are no quotes in HCL", `write "…"`), true
		case hclsyntax.TokenBacktick:
			return here.diagnose("backticks are no quotes in HCL", `write "…"`), true
		case hclsyntax.TokenBadUTF8:
			return here.diagnose("this line is not UTF-8 text", "save the file as UTF-8"), true
		case hclsyntax.TokenInvalid:
			if bytes.ContainsAny(t.Bytes, "“”‘’„") {
				return here.diagnose("typographic quotes are no quotes in HCL", `write "…"`), true
			}
		case hclsyntax.TokenQuotedNewline:
			return here.diagnose("the quotes are not closed on this line",
				"close them, or write a text of several lines as <<END … END"), true
		case hclsyntax.TokenIdent:
			if unquoted, ok := numberWithUnit(line, i); ok {
				return here.diagnose(fmt.Sprintf("%s is a number with a unit and stands in quotes", unquoted),
					fmt.Sprintf("write %q", unquoted)), true
			}
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if t.Range.Start.Byte <= at {
				template = t.Type
			}
		case hclsyntax.TokenTemplateSeqEnd:
			if t.Range.Start.Byte < at {
				template = 0
			}
		}
	}
	switch template {
	case hclsyntax.TokenTemplateControl:
		return here.diagnose("%{…} is HCL's own", "write %%{ for the characters themselves"), true
	case hclsyntax.TokenTemplateInterp:
		return here.diagnose("${…} is HCL's own",
			`write $${ for the characters themselves, or env("NAME") for the service's variable`), true
	}
	return Diagnostic{}, false
}

// explainSeparator finds what is missing or wrong between two things.
func explainSeparator(here place, line hclsyntax.Tokens) (Diagnostic, bool) {
	for i, t := range line {
		switch {
		case t.Type == hclsyntax.TokenSemicolon:
			return here.diagnose(`settings are not separated by ";"`, "put each on a line of its own"), true
		case t.Type == hclsyntax.TokenColon && i == 1 && line[0].Type == hclsyntax.TokenIdent:
			return here.diagnose(fmt.Sprintf(`%s is followed by ":" instead of "="`, line[0].Bytes),
				fmt.Sprintf("write %s = …", line[0].Bytes)), true
		case t.Type == hclsyntax.TokenOQuote && i > 0 && line[i-1].Type == hclsyntax.TokenCQuote && line[0].Type == hclsyntax.TokenIdent &&
			len(line) > 1 && line[1].Type == hclsyntax.TokenEqual:
			return here.diagnose("a comma is missing between two texts", `write "…", "…"`), true
		}
	}
	return Diagnostic{}, false
}

// explainOneLine recognises "retry { a = 1, b = 2 }": HCL takes one setting in
// a block of one line.
func explainOneLine(here place, line hclsyntax.Tokens) (Diagnostic, bool) {
	for i, t := range line {
		if t.Type == hclsyntax.TokenEqual {
			break
		}
		if t.Type == hclsyntax.TokenOBrace && i > 0 && line[0].Type == hclsyntax.TokenIdent && i+1 < len(line) {
			return here.diagnose(fmt.Sprintf("%s { … } on one line holds one setting at most", line[0].Bytes),
				"end the line after {, put each setting on a line of its own, without commas, and } on the last"), true
		}
	}
	return Diagnostic{}, false
}

// numberWithUnit recognises 30s and 512MiB where the tokens are a number and a
// word that touch each other.
func numberWithUnit(line hclsyntax.Tokens, i int) (string, bool) {
	if i == 0 || line[i-1].Type != hclsyntax.TokenNumberLit || line[i-1].Range.End.Byte != line[i].Range.Start.Byte {
		return "", false
	}
	return string(line[i-1].Bytes) + string(line[i].Bytes), true
}

// commentInTemplate recognises ${#name}: for HCL the # begins a comment that
// swallows the rest of the line, and the complaint comes much later.
func commentInTemplate(tokens hclsyntax.Tokens, before int) (int, bool) {
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Type == hclsyntax.TokenComment && tokens[i-1].Type == hclsyntax.TokenTemplateInterp &&
			tokens[i].Range.Start.Line <= before {
			return tokens[i].Range.Start.Line, true
		}
	}
	return 0, false
}

func onLine(tokens hclsyntax.Tokens, line int) hclsyntax.Tokens {
	var found hclsyntax.Tokens
	for _, t := range tokens {
		if t.Range.Start.Line == line && t.Type != hclsyntax.TokenNewline &&
			t.Type != hclsyntax.TokenEOF && t.Type != hclsyntax.TokenComment {
			found = append(found, t)
		}
	}
	return found
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
