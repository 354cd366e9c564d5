/* Counts the file operations of a process below a folder; kills it before one of them, or fails one with an error.
 *
 * It is loaded before all other libraries, and does nothing before `clew_fault_configure` is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long operations;
static char root[PATH_MAX], counter[PATH_MAX];
static size_t root_length;
static long wanted;
static int error_number;
static int is_ready;

/* folder: whose files count, an absolute path. count: file to which a letter is appended for each operation.
 * at: number of the operation, from 1, at which something happens, 0 for none. error: that it fails with, 0 for a kill.
 */
void clew_fault_configure(const char *folder, const char *count, long at, int error) {
    snprintf(root, sizeof root, "%s", folder);
    snprintf(counter, sizeof counter, "%s", count);
    root_length = strlen(root);
    wanted = at;
    error_number = error;
    is_ready = 1;
}

static int is_below(const char *path) {
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static int counts_path(const char *path) {
    char full[PATH_MAX];
    if (!is_ready || path == NULL) return 0;
    if (path[0] == '/') return is_below(path);
    if (getcwd(full, sizeof full) == NULL) return 0;
    size_t length = strlen(full);
    snprintf(full + length, sizeof full - length, "/%s", path);
    return is_below(full);
}

static int counts_descriptor(int descriptor) {
    char link[64], full[PATH_MAX];
    if (!is_ready) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, full, sizeof full - 1);
    if (length <= 0) return 0;
    full[length] = 0;
    return is_below(full);
}

/* Returns 1 where the operation has to fail. */
static int happens(char kind) {
    int saved = errno;
    long number = atomic_fetch_add(&operations, 1) + 1;
    int file = (int)syscall(SYS_openat, AT_FDCWD, counter, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file >= 0) {
        syscall(SYS_write, file, &kind, 1);
        syscall(SYS_close, file);
    }
    errno = saved;
    if (number != wanted) return 0;
    if (error_number == 0) kill(getpid(), SIGKILL);
    errno = error_number;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int is_write(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = va_arg(list, mode_t); \
        va_end(list); \
        if (is_write(flags) && counts_path(path) && happens('o')) return -1; \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(int, name, int, const char *, int, ...); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = va_arg(list, mode_t); \
        va_end(list); \
        if (is_write(flags) && (folder == AT_FDCWD || path[0] == '/') && counts_path(path) && happens('o')) return -1; \
        return real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (counts_descriptor(descriptor) && happens('w')) return -1;
    return real(descriptor, data, size);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    if (counts_descriptor(descriptor) && happens('w')) return -1;
    return real(descriptor, parts, count);
}

#define PWRITE(name) \
    ssize_t name(int descriptor, const void *data, size_t size, off_t offset) { \
        REAL(ssize_t, name, int, const void *, size_t, off_t); \
        if (counts_descriptor(descriptor) && happens('w')) return -1; \
        return real(descriptor, data, size, offset); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    if (counts_path(to) && happens('r')) return -1;
    return real(from, to);
}

int link(const char *from, const char *to) {
    REAL(int, link, const char *, const char *);
    if (counts_path(to) && happens('l')) return -1;
    return real(from, to);
}

int linkat(int one, const char *from, int other, const char *to, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    if (counts_path(to) && happens('l')) return -1;
    return real(one, from, other, to, flags);
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (counts_path(path) && happens('u')) return -1;
    return real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    if ((path[0] == '/' ? counts_path(path) : counts_descriptor(folder)) && happens('u')) return -1;
    return real(folder, path, flags);
}

int rmdir(const char *path) {
    REAL(int, rmdir, const char *);
    if (counts_path(path) && happens('u')) return -1;
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (counts_path(path) && happens('d')) return -1;
    return real(path, mode);
}

int ftruncate(int descriptor, off_t size) {
    REAL(int, ftruncate, int, off_t);
    if (counts_descriptor(descriptor) && happens('t')) return -1;
    return real(descriptor, size);
}

int fsync(int descriptor) {
    REAL(int, fsync, int);
    if (counts_descriptor(descriptor) && happens('s')) return -1;
    return real(descriptor);
}
