//go:build race

package sqlite_test

// slowdown is by how much less of a long test is done, as each part takes longer.
const slowdown = 5
