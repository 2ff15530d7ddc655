/* Slows a server's calls on its files: loaded before its own libraries (LD_PRELOAD). How long each kind of call waits stands in a
 * file that PLIMSOLL_SLOW names, as 32-bit numbers of microseconds: first whether anything waits at all, then for each role of files
 * (data, log, binary log, temporary) what a read, a write and a sync wait. The file is mapped, so a change counts at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { READ, WRITE, SYNC, CALLS };

/* Names of files by role; the first that fits counts. */
static const struct {
    const char *part;
    int role;
} NAMES[] = {
    {"pgsql_tmp", 3}, {"/#sql", 3},       {"#innodb_temp", 3}, {"ibtmp", 3}, {"/pg_wal/", 1},    {"/wal/", 1},
    {"ib_logfile", 1}, {"#innodb_redo", 1}, {"binlog.", 2},      {"-bin.", 2}, {"/base/", 0},      {".ibd", 0},
    {"ibdata", 0},     {"/global/", 0},
};

static const volatile uint32_t *delays;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PLIMSOLL_SLOW");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (map != MAP_FAILED) delays = map;
}

/* Half to one and a half times as long. */
static uint64_t spread(uint64_t us) {
    static __thread uint64_t state;
    if (!state) state = (uintptr_t)&state ^ ((uint64_t)getpid() << 32) ^ 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return us / 2 + state % (us + 1);
}

static void wait_before(int file, enum call call) {
    if (!delays || !delays[0]) return;
    char link[48], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!strstr(path, NAMES[i].part)) continue;
        uint64_t us = delays[1 + NAMES[i].role * CALLS + call];
        if (!us) return;
        us = spread(us);
        struct timespec left = {us / 1000000, us % 1000000 * 1000};
        while (nanosleep(&left, &left) && errno == EINTR) {}
        return;
    }
}

#define SLOWED(result, name, call, parameters, ...)                                                                                     \
    result name parameters {                                                                                                            \
        static result(*real) parameters;                                                                                                \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                                                \
        wait_before(file, call);                                                                                                        \
        return real(__VA_ARGS__);                                                                                                       \
    }

SLOWED(ssize_t, pread, READ, (int file, void *to, size_t size, off_t at), file, to, size, at)
SLOWED(ssize_t, pread64, READ, (int file, void *to, size_t size, off64_t at), file, to, size, at)
SLOWED(ssize_t, preadv, READ, (int file, const struct iovec *to, int count, off_t at), file, to, count, at)
SLOWED(ssize_t, preadv64, READ, (int file, const struct iovec *to, int count, off64_t at), file, to, count, at)
SLOWED(ssize_t, pwrite, WRITE, (int file, const void *of, size_t size, off_t at), file, of, size, at)
SLOWED(ssize_t, pwrite64, WRITE, (int file, const void *of, size_t size, off64_t at), file, of, size, at)
SLOWED(ssize_t, pwritev, WRITE, (int file, const struct iovec *of, int count, off_t at), file, of, count, at)
SLOWED(ssize_t, pwritev64, WRITE, (int file, const struct iovec *of, int count, off64_t at), file, of, count, at)
SLOWED(ssize_t, write, WRITE, (int file, const void *of, size_t size), file, of, size)
SLOWED(int, fsync, SYNC, (int file), file)
SLOWED(int, fdatasync, SYNC, (int file), file)
