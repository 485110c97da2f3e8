/* Reads whole files, pipes or stdin, and writes files through a temporary name. */
#include "sys/file.h"

#include "sys/map_guard.h"

#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, WRITE_MAX = 1 << 30 };

static bool is_dash(const char *path) { return path[0] == '-' && path[1] == '\0'; }

static int open_input(const char *path, struct stat *st, err *e)
{
    int fd = is_dash(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        err_sys(e, errno, "cannot open");
        return -1;
    }
    if (fstat(fd, st) == 0 && !S_ISDIR(st->st_mode)) return fd;
    err_sys(e, S_ISDIR(st->st_mode) ? EISDIR : errno, "cannot read");
    if (fd != STDIN_FILENO) close(fd);
    return -1;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
    ssize_t got;
    do got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool too_large(size_t max, err *e)
{
    return err_set(e, ERR_LIMIT, "input is larger than the limit of %zu bytes (--max-bytes)", max);
}

static bool map(int fd, size_t n, file_bytes *out)
{
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return false;
    if (!map_guard_add(p, n)) {
        munmap(p, n);
        return false;
    }
    (void)madvise(p, n, MADV_SEQUENTIAL);
    *out = (file_bytes){{p, n}, true};
    return true;
}

/* Reads to the end; `hint` is the size from fstat, which is 0 for /proc and pipes. */
static bool slurp(int fd, size_t hint, size_t max, file_bytes *out, err *e)
{
    size_t n = 0, cap = hint + 1 > CHUNK ? hint + 1 : CHUNK;
    char *p = malloc(cap);
    for (;;) {
        if (p && n == cap) {
            char *more = realloc(p, cap *= 2);
            if (!more) free(p);
            p = more;
        }
        if (!p) return err_set(e, ERR_MEMORY, "out of memory for %zu bytes of input", cap);
        ssize_t got = read_some(fd, p + n, cap - n);
        if (got > 0) n += (size_t)got;
        if (got > 0 && (!max || n <= max)) continue;
        if (got == 0) break;
        if (got < 0)
            err_sys(e, errno, "cannot read");
        else
            too_large(max, e);
        free(p);
        return false;
    }
    *out = (file_bytes){{p, n}, false};
    return true;
}

static bool read_all(int fd, const struct stat *st, size_t max_bytes, file_bytes *out, err *e)
{
    size_t size = S_ISREG(st->st_mode) && st->st_size > 0 ? (size_t)st->st_size : 0;
    bool ok;
    if (max_bytes && size > max_bytes)
        ok = too_large(max_bytes, e);
    else
        ok = (size >= FILE_MAP_MIN && lseek(fd, 0, SEEK_CUR) == 0 && map(fd, size, out)) ||
             slurp(fd, size, max_bytes, out, e);
    if (fd != STDIN_FILENO) close(fd);
    return ok;
}

bool file_read(const char *path, size_t max_bytes, file_bytes *out, err *e)
{
    struct stat st;
    *out = (file_bytes){0};
    int fd = open_input(path, &st, e);
    return fd >= 0 && read_all(fd, &st, max_bytes, out, e);
}

/* Opens with O_NONBLOCK, because opening a pipe would wait for a writer. */
bool file_read_regular(const char *path, size_t max_bytes, file_bytes *out, err *e)
{
    struct stat st;
    *out = (file_bytes){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return err_sys(e, errno, "cannot open");
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ok = ok ? file_read_part(fd, &st, max_bytes, out, e) : err_sys(e, EINVAL, "not a regular file");
    close(fd);
    return ok;
}

bool file_read_part(int fd, const struct stat *st, size_t max_bytes, file_bytes *out, err *e)
{
    size_t size = st->st_size > 0 ? (size_t)st->st_size : 0, n = 0;
    *out = (file_bytes){0};
    if (max_bytes && size > max_bytes) return too_large(max_bytes, e);
    if (size >= FILE_MAP_MIN && map(fd, size, out)) return true;
    char *p = malloc(size ? size : 1);
    if (!p) return err_set(e, ERR_MEMORY, "out of memory for %zu bytes of input", size);
    for (ssize_t got = 1; got > 0 && n<size; n += got> 0 ? (size_t)got : 0)
        got = read_some(fd, p + n, size - n);
    *out = (file_bytes){{p, n}, false};
    return true;
}

bool file_map(const char *path, file_bytes *out, err *e)
{
    struct stat st;
    *out = (file_bytes){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return err_sys(e, errno, "cannot open");
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!ok)
        err_sys(e, EINVAL, "not a regular file");
    else if (!st.st_size || !map(fd, (size_t)st.st_size, out))
        ok = file_read_part(fd, &st, 0, out, e);
    close(fd);
    return ok;
}

void file_sparse(const file_bytes *f)
{
    if (f->mapped && f->bytes.n) madvise((void *)(uintptr_t)f->bytes.p, f->bytes.n, MADV_RANDOM);
}

void file_pass(const file_bytes *f, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (f->mapped && n >= page && n <= f->bytes.n)
        (void)madvise((void *)(uintptr_t)f->bytes.p, n / page * page, MADV_DONTNEED);
}

void file_release(file_bytes *f)
{
    void *p = (void *)(uintptr_t)f->bytes.p;
    if (f->mapped) {
        map_guard_remove(p);
        munmap(p, f->bytes.n);
    } else {
        free(p);
    }
    *f = (file_bytes){0};
}

typedef struct file_source {
    source s;
    int fd;
} file_source;

static bool file_source_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    ssize_t k = read_some(((file_source *)s)->fd, p, n);
    if (k < 0) return err_sys(e, errno, "cannot read");
    *got = (size_t)k;
    return true;
}

static void file_source_close(source *s)
{
    file_source *f = (file_source *)s;
    if (f->fd != STDIN_FILENO) close(f->fd);
    free(f);
}

source *file_open(const char *path, err *e)
{
    struct stat st;
    int fd = open_input(path, &st, e);
    if (fd < 0) return NULL;
    file_source *f = malloc(sizeof *f);
    if (!f) {
        if (fd != STDIN_FILENO) close(fd);
        err_memory(e);
        return NULL;
    }
    *f = (file_source){.s = {file_source_read, file_source_close}, .fd = fd};
    return &f->s;
}

/* ---- output ---- */

/* Uses open() instead of mkostemp(), so that the kernel applies the umask.  Reading the umask would
 * require changing it for the whole process. */
static int open_new(const char *name, mode_t mode)
{
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static bool create_temporary(file_out *out, mode_t mode, err *e)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
            random = (uint32_t)getpid() + (uint32_t)tries;
        free(out->name);
        if (asprintf(&out->name, "%s.%08x.tmp", out->path, random) < 0) {
            out->name = NULL;
            return err_memory(e);
        }
        out->fd = open_new(out->name, mode);
        if (out->fd >= 0 || errno != EEXIST) break;
    }
    if (out->fd < 0) return err_sys(e, errno, "cannot create");
    out->temporary = true;
    return true;
}

/* Returns the target of a symbolic link, so that the rename does not replace the link. */
static char *real_target(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static bool create(const char *path, mode_t mode, file_out *out, err *e)
{
    *out = (file_out){.fd = -1};
    if (is_dash(path)) {
        out->fd = STDOUT_FILENO;
        return true;
    }
    struct stat st;
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    if (special && S_ISDIR(st.st_mode)) return err_sys(e, EISDIR, "cannot write");
    out->path = real_target(path);
    bool ok;
    if (!out->path) {
        ok = err_memory(e);
    } else if (special) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        ok = out->fd >= 0 || err_sys(e, errno, "cannot open for writing");
    } else {
        ok = create_temporary(out, mode, e);
    }
    if (!ok) file_abandon(out);
    return ok;
}

bool file_create(const char *path, file_out *out, err *e) { return create(path, 0666, out, e); }

bool file_put(file_out *out, str bytes, err *e)
{
    while (bytes.n) {
        ssize_t k = write(out->fd, bytes.p, bytes.n < WRITE_MAX ? bytes.n : WRITE_MAX);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return err_sys(e, errno, "cannot write");
        bytes = (str){bytes.p + k, bytes.n - (size_t)k};
    }
    return true;
}

void file_abandon(file_out *out)
{
    if (out->fd >= 0 && out->fd != STDOUT_FILENO) close(out->fd);
    if (out->temporary) unlink(out->name);
    free(out->path);
    free(out->name);
    *out = (file_out){.fd = -1};
}

/* Syncs the directory, because the rename is not durable before. */
static void sync_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash == path ? strdup("/")
                : slash       ? strndup(path, (size_t)(slash - path))
                              : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(dir);
}

bool file_commit(file_out *out, err *e)
{
    bool ok = true;
    if (out->temporary) {
        ok = fsync(out->fd) == 0 && rename(out->name, out->path) == 0;
        if (ok)
            sync_directory(out->path);
        else
            err_sys(e, errno, "cannot write");
        out->temporary = !ok;
    }
    file_abandon(out);
    return ok;
}

static bool write_whole(const char *path, mode_t mode, str bytes, err *e)
{
    file_out out;
    if (!create(path, mode, &out, e)) return false;
    if (file_put(&out, bytes, e)) return file_commit(&out, e);
    file_abandon(&out);
    return false;
}

bool file_write(const char *path, str bytes, err *e) { return write_whole(path, 0666, bytes, e); }

bool file_write_private(const char *path, str bytes, err *e)
{
    return write_whole(path, 0600, bytes, e);
}

bool file_set_aside(const char *path, bool *kept, err *e)
{
    char old[4096];
    int n = snprintf(old, sizeof old, "%s.old", path);
    *kept = false;
    if (n < 0 || (size_t)n >= sizeof old)
        return err_sys(e, ENAMETOOLONG, "cannot rename to %.100s.old", path);
    *kept = rename(path, old) == 0;
    return *kept || errno == ENOENT || err_sys(e, errno, "cannot rename to %.100s", old);
}

bool file_placeable(const char *path, err *e)
{
    char dir[4096];
    struct stat st;
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) : 0;
    if (n >= (int)sizeof dir) return err_sys(e, ENAMETOOLONG, "cannot be written");
    snprintf(dir, sizeof dir, "%.*s", n, path);
    if (!n) snprintf(dir, sizeof dir, "%s", slash ? "/" : ".");
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return err_sys(e, EISDIR, "cannot be written");
        if (!S_ISREG(st.st_mode)) return true; /* a device or a pipe: written directly */
    }
    return access(dir, W_OK | X_OK) == 0 || err_sys(e, errno, "cannot be written");
}
