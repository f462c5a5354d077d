package config

// Setting is one value in force and where it comes from.
type Setting struct {
	Block string // "", "lease", `handler "mail"`, `handler "mail" retry` …
	Name  string
	Value string // as it would be written in HCL; "(secret)" for what env() or file() gave, "(none)" for a block that is not set
	From  string // "default", "FILE:LINE", or "drop-in FILE"
}

// Effective lists every setting in force, in a stable order: top level,
// blocks, then handlers by kind.
func (c *Config) Effective() []Setting { return c.settings }
