/* Kills the program in the middle of its work on files: at the call number SMS_KILL_AT of those
 * that change a file or a folder. Of a write, SMS_KILL_SHARE percent are done before. The file
 * SMS_KILL_COUNT gets the number of calls of a program that is not killed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static long calls;

/* Whether this call is the last one. */
static int is_last(void) {
    const char *at = getenv("SMS_KILL_AT");
    return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == (at == NULL ? -1 : atol(at));
}

/* How much of the last write is done. */
static size_t part(size_t count) {
    const char *share = getenv("SMS_KILL_SHARE");
    return count * (share == NULL ? 50 : atoi(share)) / 100;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

__attribute__((destructor)) static void count(void) {
    const char *path = getenv("SMS_KILL_COUNT");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%ld", calls);
    fclose(file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    /* What it prints is no work on files. */
    if (fd > 2 && is_last()) {
        NEXT(write)(fd, bytes, part(count));
        die();
    }
    return NEXT(write)(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    if (is_last()) {
        NEXT(pwrite)(fd, bytes, part(count), at);
        die();
    }
    return NEXT(pwrite)(fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    if (is_last()) {
        NEXT(pwrite64)(fd, bytes, part(count), at);
        die();
    }
    return NEXT(pwrite64)(fd, bytes, count, at);
}

#define WRAP(name, parameters, arguments) \
    int name parameters {                 \
        if (is_last()) die();             \
        return NEXT(name) arguments;      \
    }

WRAP(fsync, (int fd), (fd))
WRAP(fdatasync, (int fd), (fd))
WRAP(ftruncate, (int fd, off_t length), (fd, length))
WRAP(ftruncate64, (int fd, off64_t length), (fd, length))
WRAP(unlink, (const char *path), (path))
WRAP(link, (const char *from, const char *to), (from, to))
WRAP(linkat, (int at, const char *from, int in, const char *to, int flags),
     (at, from, in, to, flags))
WRAP(rename, (const char *from, const char *to), (from, to))
