package main

import "testing"

func TestSizesForPeople(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1.0 KiB", 10_188: "9.9 KiB", 10_200: "10 KiB",
		410 << 20: "410 MiB", 1<<20 - 1: "1.0 MiB", 3<<30 + 100<<20: "3.1 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := size(bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
}
