package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// section is a body whose settings have been read and checked one by one.
type section struct {
	at     place
	dir    string // where relative paths in it start
	values map[string]value
	failed map[string]bool // settings that stand there and were refused, or seem meant
	blocks map[string]*section
	named  []named // the labelled blocks, in the order of the file

	// Of a whole file: no line of it had to be put aside, and nothing in it was
	// left unread, such as a word that means nothing here.
	parsed, whole bool
}

// settles reports whether a file leaves no doubt about a setting: it was read,
// or it is not set, and nothing that was left unread could have set it.
func (s *section) settles(name string) bool {
	_, set := s.values[name]
	return s.parsed && (set || s.whole && !s.failed[name])
}

// named is a block with a label.
type named struct {
	label string
	*section
}

// value is one setting as it was read.
type value struct {
	data   any // what its form made of it
	secret bool
	// secrets are the names within a map of variables, or the places within a
	// list, whose texts are secret.
	secrets map[string]bool
	at      place
}

// sectionReader reads bodies of one file.
type sectionReader struct {
	file  string
	dir   string
	aside map[int]bool // lines about which everything has been said
	eval  *hcl.EvalContext
	list  *[]Diagnostic
	lost  bool // something was left unread
}

func (r *sectionReader) report(d Diagnostic) {
	if !r.aside[d.Line] {
		*r.list = append(*r.list, d)
	}
}

// lose reports what is left unread.
func (r *sectionReader) lose(d Diagnostic) {
	r.lost = true
	r.report(d)
}

func (r *sectionReader) place(rng hcl.Range) place { return place{r.file, rng.Start.Line} }

// read checks a body against its schema: every setting and block is known,
// stands once, and is well formed. What is wrong is reported and left out.
func (r *sectionReader) read(body *hclsyntax.Body, s *schema, where string, at place) *section {
	sec := &section{at: at, dir: r.dir, values: map[string]value{}, failed: map[string]bool{}, blocks: map[string]*section{}}
	for _, attribute := range inFileOrder(body.Attributes) {
		here := r.place(attribute.NameRange)
		f, known := s.settings[attribute.Name]
		if !known {
			d := unknown(attribute.Name, s, where, here, false)
			r.lose(d)
			sec.failed[d.Near] = true
			continue
		}
		v, ok := r.value(attribute, f, where, here)
		if !ok {
			sec.failed[attribute.Name] = true
			continue
		}
		sec.values[attribute.Name] = v
	}
	for _, block := range body.Blocks {
		here := r.place(block.TypeRange)
		inner, known := s.blocks[block.Type]
		switch {
		case !known:
			r.lose(unknown(block.Type, s, where, here, true))
		case inner.labelled:
			r.readNamed(sec, block, inner, here)
		case len(block.Labels) > 0:
			r.lose(here.diagnose(fmt.Sprintf("block %s takes no name", block.Type),
				fmt.Sprintf("write %s { … }", block.Type)))
		case sec.blocks[block.Type] != nil:
			r.lose(here.diagnose(fmt.Sprintf("block %s stands twice", block.Type),
				fmt.Sprintf("first at %s; make them one", sec.blocks[block.Type].at)))
		default:
			sec.blocks[block.Type] = r.read(block.Body, inner, within(where, block.Type), here)
		}
	}
	return sec
}

func (r *sectionReader) readNamed(sec *section, block *hclsyntax.Block, inner *schema, here place) {
	if len(block.Labels) != 1 {
		r.lose(here.diagnose(fmt.Sprintf("block %s takes one name, its kind", block.Type),
			fmt.Sprintf(`write %s "KIND" { … }`, block.Type)))
		return
	}
	label := block.Labels[0]
	for _, other := range sec.named {
		if other.label == label {
			r.lose(here.diagnose(fmt.Sprintf("%s %q stands twice", block.Type, label),
				fmt.Sprintf("first at %s; rename or remove one", other.at)))
			return
		}
	}
	sec.named = append(sec.named, named{label, r.read(block.Body, inner, fmt.Sprintf("%s %q", block.Type, label), here)})
}

// value evaluates one setting of the block where and puts it into its form.
func (r *sectionReader) value(attribute *hclsyntax.Attribute, f form, where string, here place) (value, bool) {
	if r.reportForeignWords(attribute) {
		return value{}, false
	}
	raw, problems := attribute.Expr.Value(r.eval)
	if problems.HasErrors() {
		for _, p := range problems.Errs() {
			r.report(here.diagnose(attribute.Name+": "+reason(p), ""))
		}
		return value{}, false
	}
	v := value{at: here, secret: raw.HasMark(secretMark) || raw.ContainsMarked(), secrets: map[string]bool{}}
	shallow, _ := raw.Unmark()
	named := shallow.Type().IsObjectType() || shallow.Type().IsMapType()
	switch {
	case !shallow.CanIterateElements():
	case named:
		for name, element := range shallow.AsValueMap() {
			v.secrets[name] = element.ContainsMarked()
		}
	default:
		for i, element := range shallow.AsValueSlice() {
			v.secrets[strconv.Itoa(i)] = raw.IsMarked() || element.ContainsMarked()
		}
	}
	plain, _ := raw.UnmarkDeep()
	var err error
	switch {
	case raw.IsMarked() && named && len(v.secrets) > 0:
		r.report(here.diagnose(attribute.Name+": what env() or file() gave cannot be a name", "write names out"))
		return value{}, false
	case plain.IsNull():
		err = errors.New("null is no value: leave the line out")
	case !plain.IsWhollyKnown():
		err = errors.New("its value is not known")
	default:
		v.data, err = f(plain)
	}
	if err == nil {
		return v, true
	}
	d := here.diagnose(asWritten(where, attribute.Name, plain)+": "+err.Error(), "")
	if v.secret && !errors.As(err, new(*nameError)) {
		d.Summary = attribute.Name + ": what env() or file() gave does not fit"
		d.Detail = "its text is kept secret"
	}
	r.report(d)
	return value{}, false
}

// reportForeignWords reports variables, which a configuration has none of, and
// functions other than the two; it tells whether there were any.
func (r *sectionReader) reportForeignWords(attribute *hclsyntax.Attribute) bool {
	found := false
	for _, traversal := range attribute.Expr.Variables() {
		found = true
		rng := traversal.SourceRange()
		name := traversal.RootName()
		if inTemplate(attribute.Expr, rng) {
			r.report(r.place(rng).diagnose(fmt.Sprintf("%s: ${…} is HCL's own, and there is nothing called %s", attribute.Name, name),
				fmt.Sprintf(`write $${%s} for the characters themselves, or env(%q) for the service's variable`, name, name)))
			continue
		}
		r.report(r.place(rng).diagnose(fmt.Sprintf("%s: %s stands without quotes", attribute.Name, name),
			fmt.Sprintf("write %q", name)))
	}
	_ = hclsyntax.VisitAll(attribute.Expr, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return nil
		}
		if _, known := r.eval.Functions[call.Name]; !known {
			found = true
			r.report(r.place(call.NameRange).diagnose(fmt.Sprintf("%s: there is no function %s()", attribute.Name, call.Name),
				`the functions are env("NAME") and file("path")`))
		}
		return nil
	})
	return found
}

// inTemplate reports whether a range of an expression stands within "…${…}…".
func inTemplate(expr hclsyntax.Expression, rng hcl.Range) bool {
	within := false
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
			within = within || n.Range().Overlaps(rng)
		}
		return nil
	})
	return within
}

// reason is what went wrong in an evaluation: the words of our own function
// where one of ours refused, else the parser's.
func reason(err error) string {
	var d *hcl.Diagnostic
	if !errors.As(err, &d) {
		return err.Error()
	}
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d); ok && call.FunctionCallError() != nil {
		return call.FunctionCallError().Error()
	}
	return lowerFirst(d.Summary) + ": " + lowerFirst(d.Detail)
}

func inFileOrder(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	list := make([]*hclsyntax.Attribute, 0, len(attributes))
	for _, a := range attributes {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
	return list
}

// asWritten names a setting with its block, and its value where that is short.
func asWritten(where, name string, v cty.Value) string {
	if where != "" {
		name = where + "." + name
	}
	const most = 40
	switch {
	case v.IsNull() || !v.IsWhollyKnown():
	case v.Type() == cty.String && len(v.AsString()) <= most:
		return name + " = " + quote(v.AsString())
	case v.Type() == cty.Number:
		return name + " = " + number(v)
	case v.Type() == cty.Bool:
		return name + " = " + strconv.FormatBool(v.True())
	}
	return name
}

// within names a block for people: `handler "mail" retry`.
func within(where, block string) string { return strings.TrimSpace(where + " " + block) }
