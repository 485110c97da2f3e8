/* measure.c - see measure.h.  The interposed allocator counts calls and passes them to glibc. */
#include "measure.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- counting: these definitions override libc's for every object of the process ---- */

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static alloc_count counted;

alloc_count alloc_counted(void) { return counted; }

EXPORT void *malloc(size_t n) { return counted.mallocs++, __libc_malloc(n); }
EXPORT void *calloc(size_t n, size_t size) { return counted.mallocs++, __libc_calloc(n, size); }
EXPORT void *realloc(void *p, size_t n) { return counted.mallocs++, __libc_realloc(p, n); }
EXPORT void *memalign(size_t align, size_t n)
{
    return counted.mallocs++, __libc_memalign(align, n);
}
EXPORT void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
    *out = memalign(align, n);
    return *out ? 0 : ENOMEM;
}
EXPORT void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    counted.maps++;
    return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, at);
}
EXPORT void *mremap(void *p, size_t old, size_t n, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
    va_end(ap);
    counted.maps++;
    return (void *)syscall(SYS_mremap, p, old, n, flags, to);
}

/* ---- clocks and memory ---- */

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double cpu_seconds(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds(void) { return seconds(CLOCK_MONOTONIC); }

/* Returns the value of a "VmXXX:  123 kB" line of /proc/self/status in bytes. */
static size_t status_bytes(const char *key)
{
    static char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *line = strstr(text, key);
    return line ? strtoul(line + strlen(key), NULL, 10) * 1024 : 0;
}

static void reset_peak(void) /* VmHWM = VmRSS; proc(5), clear_refs */
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "5", 1) !=
        1) { /* on failure the peak includes the start of the program, which needs less */
    }
    close(fd);
}

static size_t minus(size_t a, size_t b) { return a > b ? a - b : 0; }

size_t memory_mark(void)
{
    size_t resident = status_bytes("VmRSS:");
    reset_peak();
    return resident;
}

size_t memory_peak(size_t mark) { return minus(status_bytes("VmHWM:"), mark); }

/* ---- payloads ---- */

static bool read_all(int fd, uint8_t *p, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = read(fd, p + got, n - got);
        if (k <= 0) return false;
        got += (size_t)k;
    }
    return true;
}

bool material_load(const char *path, material *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    size_t n = (size_t)st.st_size, room = (n + MATERIAL_PADDING + 4095) / 4096 * 4096;
    uint8_t *p = aligned_alloc(4096, room);
    bool ok = p && read_all(fd, p, n);
    close(fd);
    if (!ok) return free(p), false;
    memset(p + n, 0, room - n);
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    *out = (material){.name = slash ? slash + 1 : path,
                      .path = path,
                      .p = p,
                      .n = n,
                      .kind = dot && strcmp(dot, ".json") == 0 ? MATERIAL_JSON : MATERIAL_OTLP};
    return true;
}

void material_free(material *p)
{
    free((void *)(uintptr_t)p->p);
    *p = (material){0};
}

/* ---- a separate process ---- */

static const char fresh_format[] = "%la %zu %zu %" SCNu64 " %" SCNu64;

int fresh_child(const contestant *c, const char *path)
{
    material in;
    size_t before = status_bytes("VmRSS:");
    if (!material_load(path, &in)) return 1;
    size_t loaded = memory_mark();
    alloc_count a0 = counted;
    double start = cpu_seconds();
    void *self = c->open(&in);
    if (!self || !c->decode(self, &in)) return 1;
    double took = cpu_seconds() - start;
    alloc_count a1 = counted;
    size_t peak = status_bytes("VmHWM:");
    printf("%a %zu %zu %" PRIu64 " %" PRIu64 "\n", took * 1e3, minus(peak, loaded),
           minus(peak, before), a1.mallocs - a0.mallocs, a1.maps - a0.maps);
    c->close(self);
    material_free(&in);
    return 0;
}

static int spawn(const char *name, const char *path, int *from)
{
    int fd[2];
    if (pipe(fd) != 0) return -1;
    int pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        execl("/proc/self/exe", "bench", "--fresh", name, path, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    *from = fd[0];
    return pid;
}

fresh fresh_run(const contestant *c, const char *path)
{
    int from, status = -1, pid = spawn(c->name, path, &from);
    char text[256] = "";
    fresh f = {0};
    if (pid < 0) return f;
    ssize_t n = read(from, text, sizeof text - 1); /* one line, written at once */
    close(from);
    waitpid(pid, &status, 0);
    f.ok = n > 0 && status == 0 &&
           sscanf(text, fresh_format, &f.first_ms, &f.peak, &f.peak_all, &f.allocs.mallocs,
                  &f.allocs.maps) == 5;
    return f;
}
