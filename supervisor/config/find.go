package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// SystemFile is the configuration of a system service.
const SystemFile = "/etc/bailiff/config.hcl"

// Find answers which configuration to use: explicit if it is not empty, else
// the one that BAILIFF_CONFIG names, else the first that exists of
// ./config.hcl, $XDG_CONFIG_HOME/bailiff/config.hcl and SystemFile. The path
// is as it was named, so that messages can be read. A file that is there and
// cannot be read is found: Load tells what is wrong with it. The error lists
// where it looked, and errors.Is(err, fs.ErrNotExist).
func Find(explicit string) (path string, err error) {
	if explicit != "" {
		return explicit, mustExist(explicit, "named by --config")
	}
	if named := os.Getenv("BAILIFF_CONFIG"); named != "" {
		return named, mustExist(named, "named by BAILIFF_CONFIG")
	}
	places := []string{"config.hcl"}
	if dir := userDir("XDG_CONFIG_HOME", ".config"); dir != "" {
		places = append(places, filepath.Join(dir, "bailiff", "config.hcl"))
	}
	places = append(places, SystemFile)
	for _, place := range places {
		if exists(place) {
			return place, nil
		}
	}
	places[0] = "./" + places[0]
	return "", fmt.Errorf("no configuration found: looked for %s (or name one with --config or BAILIFF_CONFIG): %w",
		strings.Join(places, ", "), fs.ErrNotExist)
}

func mustExist(path, how string) error {
	if exists(path) {
		return nil
	}
	return fmt.Errorf("no configuration at %s (%s): %w", path, how, fs.ErrNotExist)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// userDir is a base folder of the user's by the XDG Base Directory
// Specification: what the variable says if that is absolute, else the folder
// under the home folder; empty if neither is known.
func userDir(variable, underHome string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, underHome)
}
