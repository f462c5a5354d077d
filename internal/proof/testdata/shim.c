// The shim stands between SQLite and the C library (LD_PRELOAD). Of every file
// below one folder it can tell what is done to it, and can let a call fail.
//
// It is told what to do by words in a page of memory that it shares with the
// program (PROOF_CONTROL names the file). What it tells it appends to the file
// PROOF_TRACE, each record in one write, so that records of all threads and
// processes stand there in the order in which the calls had ended. Layout of a
// record: its length in bytes, the kind, two numbers, the inode, then the data.
//
// Go's own system calls do not pass here.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// What is done to a file; also the bits of control.kinds.
enum { OPEN = 1, WRITE = 2, TRUNCATE = 4, SYNC = 8, UNLINK = 16, READ = 32, MAP = 64, SYNC_FOLDER = 128 };

// Kinds of records. A sync is told when it begins and when it has ended.
enum { CREATED = 'C', WRITTEN = 'W', CUT = 'T', SYNCING = 'B', SYNCED = 'S', UNSYNCED = 'F', REMOVED = 'U' };

struct control {
	int64_t kinds;  // which calls count
	int64_t left;   // the fault comes with this one of them; 0: none
	int64_t error;  // the errno of the fault
	int64_t sticky; // 1: all that count fail from then on
	int64_t part;   // of a write that is done before it fails; 1: half of it, 2: all
	int64_t hits;   // faults so far
	int64_t calls;  // calls that counted so far
};

enum { FILES = 1 << 16 };

static struct {
	uint8_t kind; // 0: not ours, 1: a file, 2: a folder
	ino_t ino;
} files[FILES];

static const char *folder;
static size_t folder_length;
static struct control *control;
static int trace = -1;
static int64_t syncs;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_unlink)(const char *);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

static void *real(const char *name) {
	void *f = dlsym(RTLD_NEXT, name);
	if (!f) abort();
	return f;
}

__attribute__((constructor)) static void start(void) {
	real_open = real("open64");
	real_close = real("close");
	real_pread = real("pread64");
	real_pwrite = real("pwrite64");
	real_write = real("write");
	real_ftruncate = real("ftruncate64");
	real_fsync = real("fsync");
	real_unlink = real("unlink");
	real_mmap = real("mmap64");

	folder = getenv("PROOF_FOLDER");
	if (!folder) return;
	folder_length = strlen(folder);
	const char *name = getenv("PROOF_CONTROL");
	int fd = name ? real_open(name, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0) abort();
	control = real_mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED) abort();
	real_close(fd);
	if ((name = getenv("PROOF_TRACE")) && *name) {
		trace = real_open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (trace < 0) abort();
	}
}

// ours is whether a name is that of the folder or of something below it.
static int ours(const char *path) {
	return folder && strncmp(path, folder, folder_length) == 0 && (path[folder_length] == 0 || path[folder_length] == '/');
}

// below is a name as seen from the folder.
static const char *below(const char *path) { return path + folder_length + (path[folder_length] == '/'); }

static int kind_of(int fd) { return fd >= 0 && fd < FILES ? files[fd].kind : 0; }

static void tell(int kind, int64_t a, int64_t b, uint64_t ino, const void *data, size_t n) {
	if (trace < 0) return;
	int64_t head[5] = {sizeof head + n, kind, a, b, ino};
	struct iovec parts[2] = {{head, sizeof head}, {(void *)data, n}};
	if (writev(trace, parts, 2) != head[0]) abort();
}

// fails counts a call and says whether it is to fail; errno is set then.
static int fails(int kind) {
	if (!control || !(__atomic_load_n(&control->kinds, __ATOMIC_SEQ_CST) & kind)) return 0;
	__atomic_fetch_add(&control->calls, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&control->left, __ATOMIC_SEQ_CST) <= 0) return 0;
	int64_t left = __atomic_sub_fetch(&control->left, 1, __ATOMIC_SEQ_CST);
	if (left > 0) return 0;
	if (__atomic_load_n(&control->sticky, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&control->left, 1, __ATOMIC_SEQ_CST);
	} else if (left < 0) {
		return 0; // another thread had the last
	}
	__atomic_fetch_add(&control->hits, 1, __ATOMIC_SEQ_CST);
	errno = (int)__atomic_load_n(&control->error, __ATOMIC_SEQ_CST);
	return 1;
}

static void note(int fd) {
	struct stat st;
	if (fd >= FILES || fstat(fd, &st) != 0) abort();
	files[fd].ino = st.st_ino;
	files[fd].kind = S_ISDIR(st.st_mode) ? 2 : 1;
}

static int opens(const char *path, int flags, mode_t mode) {
	if (!ours(path)) return real_open(path, flags, mode);
	if (fails(OPEN)) return -1;
	int created = 0, fd;
	for (;;) { // finds out whether the file is made by this very call
		fd = real_open(path, flags & ~(O_CREAT | O_EXCL));
		if (!(flags & O_CREAT)) break;
		if (fd >= 0 && (flags & O_EXCL)) {
			real_close(fd);
			errno = EEXIST;
			return -1;
		}
		if (fd >= 0 || errno != ENOENT) break;
		fd = real_open(path, flags | O_EXCL, mode);
		if (fd >= 0) created = 1;
		if (fd >= 0 || errno != EEXIST) break;
	}
	if (fd < 0) return fd;
	note(fd);
	if (created) tell(CREATED, 0, 0, files[fd].ino, below(path), strlen(below(path)));
	return fd;
}

int open64(const char *path, int flags, ...) {
	mode_t mode = 0;
	if (flags & O_CREAT) {
		va_list more;
		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	return opens(path, flags, mode);
}

int open(const char *path, int flags, ...) {
	mode_t mode = 0;
	if (flags & O_CREAT) {
		va_list more;
		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	return opens(path, flags, mode);
}

int close(int fd) {
	if (kind_of(fd)) files[fd].kind = 0;
	return real_close(fd);
}

ssize_t pread64(int fd, void *data, size_t n, off_t at) {
	if (kind_of(fd) == 1 && fails(READ)) return -1;
	return real_pread(fd, data, n, at);
}

ssize_t pread(int fd, void *data, size_t n, off_t at) { return pread64(fd, data, n, at); }

static ssize_t writes(int fd, const void *data, size_t n, off_t at) {
	if (kind_of(fd) != 1) return real_pwrite(fd, data, n, at);
	if (fails(WRITE)) {
		int error = errno;
		size_t part = control->part == 2 ? n : control->part == 1 ? n / 2 : 0;
		if (part > 0) {
			ssize_t done = real_pwrite(fd, data, part, at);
			if (done > 0) tell(WRITTEN, at, 0, files[fd].ino, data, done);
		}
		errno = error;
		return -1;
	}
	ssize_t done = real_pwrite(fd, data, n, at);
	int error = errno;
	if (done > 0) tell(WRITTEN, at, 0, files[fd].ino, data, done);
	errno = error;
	return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return writes(fd, data, n, at); }

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return writes(fd, data, n, at); }

ssize_t write(int fd, const void *data, size_t n) {
	if (kind_of(fd) != 1) return real_write(fd, data, n);
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t done = writes(fd, data, n, at);
	if (done > 0) lseek(fd, at + done, SEEK_SET);
	return done;
}

int ftruncate64(int fd, off_t size) {
	if (kind_of(fd) != 1) return real_ftruncate(fd, size);
	if (fails(TRUNCATE)) return -1;
	int rc = real_ftruncate(fd, size);
	if (rc == 0) tell(CUT, size, 0, files[fd].ino, NULL, 0);
	return rc;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int sync_file(int fd) {
	int kind = kind_of(fd);
	if (!kind) return real_fsync(fd);
	int64_t id = ((int64_t)getpid() << 32) | __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
	tell(SYNCING, id, 0, files[fd].ino, NULL, 0);
	int rc = fails(kind == 2 ? SYNC_FOLDER : SYNC) ? -1 : real_fsync(fd);
	int error = errno;
	tell(rc == 0 ? SYNCED : UNSYNCED, id, 0, files[fd].ino, NULL, 0);
	errno = error;
	return rc;
}

int fsync(int fd) { return sync_file(fd); }

int fdatasync(int fd) { return sync_file(fd); }

int unlink(const char *path) {
	if (!ours(path)) return real_unlink(path);
	if (fails(UNLINK)) return -1;
	int rc = real_unlink(path);
	int error = errno;
	if (rc == 0) tell(REMOVED, 0, 0, 0, below(path), strlen(below(path)));
	errno = error;
	return rc;
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
	if (kind_of(fd) == 1 && fails(MAP)) return MAP_FAILED;
	return real_mmap(at, n, protection, flags, fd, offset);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
	return mmap64(at, n, protection, flags, fd, offset);
}
