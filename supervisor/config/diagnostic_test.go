package config_test

import (
	"testing"

	"github.com/b1213022/bailiff/supervisor/config"
)

func TestNearestWord(t *testing.T) {
	t.Parallel()
	known := []string{"transcode", "mail", "resize", "hello"}
	for word, want := range map[string]string{
		"maill": "mail", "mial": "mail", "mal": "mail", "Mail": "mail", "resise": "resize", "transcoder": "transcode",
		"charge": "", "ma": "", "": "",
	} {
		if got := config.Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

// Whatever a name holds, a diagnostic is one line.
func TestDiagnosticIsOneLine(t *testing.T) {
	t.Parallel()
	d := config.Diagnostic{File: "a\nb.hcl", Line: 3, Summary: "unknown", Detail: "mend it"}
	if got, want := d.String(), `a\nb.hcl:3: unknown: mend it`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
