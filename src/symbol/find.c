/* Finds the file and the debug file of a binary on this machine, in the order of gdb.  A candidate
 * is compared by build id, or by the CRC of .gnu_debuglink, wherever the profile or the binary has
 * one, so that a rebuilt binary does not provide wrong names. */
#include "symbol/find.h"

#include "model/model.h"
#include "sys/rooted.h"
#include <errno.h>
#include "base/buf.h"
#include "base/text.h"
#include "base/ban.h"

/* Debug files of packages, and of programs installed from source (docs/install.md). */
static const char *const system_dirs[] = {"/usr/lib/debug", "/usr/local/lib/debug"};

typedef struct finder {
    const binary_id *id;
    find_dirs dirs;
    arena *a;
    found_files *out;
    bool only_binary;
    char gnu[2 * BUILD_ID_BYTES_MAX + 1]; /* lower-case hex of the build id; "": not known */
} finder;

/* root: NULL for kiln's own */
static bool open_elf(finder *f, const char *root, const char *path, found_file *out)
{
    err e = {0};
    if (!rooted_read_path(root, path, 0, &out->bytes, &e)) {
        f->out->no_permission |= e.sys == EACCES || e.sys == EPERM;
        return false;
    }
    if (asprintf(&out->path, "%s%s", root ? root : "", path) < 0) out->path = NULL;
    out->root = root;
    if (out->path && elf_read(out->bytes.bytes, f->a, &out->elf, &e)) return true;
    free(out->path);
    file_release(&out->bytes);
    *out = (found_file){0};
    return false;
}

static void close_elf(found_file *f)
{
    free(f->path);
    file_release(&f->bytes);
    *f = (found_file){0};
}

static bool hex_eq(str a, str b) /* htlhash is written in upper or lower case */
{
    if (a.n != b.n) return false;
    for (size_t i = 0; i < a.n; i++)
        if ((a.p[i] | 0x20) != (b.p[i] | 0x20)) return false;
    return true;
}

static void hex_of(str bytes, char out[2 * BUILD_ID_BYTES_MAX + 1])
{
    hex_encode((const uint8_t *)bytes.p, bytes.n, out);
}

/* ---- comparing builds ---- */

typedef enum verdict { OTHER, SAME, UNKNOWN } verdict;

static verdict compare(finder *f, const found_file *x)
{
    build_ids ids = elf_build_ids(&x->elf);
    char gnu[2 * BUILD_ID_BYTES_MAX + 1] = "";
    if (ids.gnu.n) hex_of(ids.gnu, gnu);
    if (f->id->gnu.n && gnu[0]) return hex_eq(f->id->gnu, str_of(gnu)) ? SAME : OTHER;
    if (f->id->go.n && ids.go.n) return str_eq(f->id->go, ids.go) ? SAME : OTHER;
    if (f->id->htlhash.n) {
        uint8_t h[HTLHASH_BYTES];
        char hex[2 * HTLHASH_BYTES + 1];
        htlhash(x->bytes.bytes, h);
        hex_encode(h, sizeof h, hex);
        return hex_eq(f->id->htlhash, str_of(hex)) ? SAME : OTHER;
    }
    return f->id->gnu.n || f->id->go.n ? OTHER : UNKNOWN;
}

static bool try_file(finder *f, const char *root, const char *path)
{
    found_file x = {0};
    if (f->out->file.path || !open_elf(f, root, path, &x)) return false;
    verdict v = compare(f, &x);
    bool unproven = v == UNKNOWN && f->dirs.proven;
    f->out->differs |= v == OTHER;
    f->out->unproven |= unproven;
    if (v == OTHER || unproven) {
        close_elf(&x);
        return false;
    }
    f->out->trusted = v == UNKNOWN;
    f->out->file = x;
    return true;
}

static bool is_debug_of(finder *f, const found_file *x, const uint32_t *crc)
{
    build_ids ids = elf_build_ids(&x->elf);
    char gnu[2 * BUILD_ID_BYTES_MAX + 1] = "";
    if (ids.gnu.n) hex_of(ids.gnu, gnu);
    if (f->gnu[0] && gnu[0]) return !strcmp(f->gnu, gnu);
    return crc && elf_crc(x->bytes.bytes) == *crc;
}

static bool try_debug(finder *f, const char *root, const char *path, const uint32_t *crc)
{
    found_file x = {0};
    if (f->only_binary || f->out->debug.path || !open_elf(f, root, path, &x)) return false;
    bool useful = elf_has(&x.elf, STR(".symtab")) || elf_has(&x.elf, STR(".debug_info"));
    if (!useful || !is_debug_of(f, &x, crc)) {
        close_elf(&x);
        return false;
    }
    f->out->debug = x;
    return true;
}

/* ---- candidates ---- */

static size_t n_dirs(const finder *f) { return f->dirs.n + ARRAY_LEN(system_dirs); }

static const char *dir_at(const finder *f, size_t i)
{
    return i < f->dirs.n ? f->dirs.v[i] : system_dirs[i - f->dirs.n];
}

static str path_in_root(const found_file *x)
{
    return str_of(x->path + (x->root ? strlen(x->root) : 0));
}

static str dir_of(str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    return slash ? (str){path.p, (size_t)(slash - path.p)} : STR(".");
}

/* Formats a path into b. */
static const char *path_of(buf *b, const char *fmt, ...) PRINTF(2, 3);
static const char *path_of(buf *b, const char *fmt, ...)
{
    va_list v;
    char text[4096];
    va_start(v, fmt);
    int n = vsnprintf(text, sizeof text, fmt, v);
    va_end(v);
    buf_reset(b);
    if (n > 0 && (size_t)n < sizeof text) buf_put(b, text, (size_t)n);
    buf_putc(b, '\0');
    return b->failed ? "" : b->p;
}

static void find_file(finder *f, buf *b)
{
    str name = f->id->name, deleted = STR(" (deleted)");
    if (str_ends(name, deleted)) name.n -= deleted.n; /* the file may have been installed again */
    if (!name.n || memchr(name.p, '\0', name.n)) return;
    if (name.p[0] == '/' && f->dirs.root)
        try_file(f, f->dirs.root, path_of(b, "%.*s", STR_ARG(name)));
    if (name.p[0] == '/') try_file(f, NULL, path_of(b, "%.*s", STR_ARG(name)));
    for (size_t i = 0; i < f->dirs.n; i++) {
        str base = str_base_name(name);
        if (name.p[0] == '/') try_file(f, NULL, path_of(b, "%s%.*s", f->dirs.v[i], STR_ARG(name)));
        if (base.n) try_file(f, NULL, path_of(b, "%s/%.*s", f->dirs.v[i], STR_ARG(base)));
    }
}

/* Finds files that debuginfod-find downloaded to its cache: DIR/BUILDID/debuginfo and
 * executable. */
static void find_fetched(finder *f, buf *b)
{
    const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    char dir[4096];
    int n = own && own[0]          ? snprintf(dir, sizeof dir, "%s", own)
            : xdg && xdg[0] == '/' ? snprintf(dir, sizeof dir, "%s/debuginfod_client", xdg)
            : home && home[0] == '/'
                ? snprintf(dir, sizeof dir, "%s/.cache/debuginfod_client", home)
                : -1;
    if (n < 0 || (size_t)n >= sizeof dir || strlen(f->gnu) < 3) return;
    try_debug(f, NULL, path_of(b, "%s/%s/debuginfo", dir, f->gnu), NULL);
    try_file(f, NULL, path_of(b, "%s/%s/executable", dir, f->gnu));
}

/* Finds files by build id: DIR/.build-id/ab/cdef is the file itself, cdef.debug its debug
 * information. */
static void find_by_id(finder *f, buf *b)
{
    if (strlen(f->gnu) < 3) return;
    for (size_t i = 0; i < n_dirs(f); i++) {
        const char *dir = dir_at(f, i), *id = f->gnu;
        try_debug(f, NULL, path_of(b, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2), NULL);
        try_file(f, NULL, path_of(b, "%s/.build-id/%.2s/%s", dir, id, id + 2));
    }
}

static void find_by_link(finder *f, buf *b)
{
    const found_file *file = &f->out->file;
    elf_link l = file->path ? elf_debug_link(&file->elf) : (elf_link){.name = STR("")};
    if (!l.name.n) return;
    str dir = dir_of(path_in_root(file));
    const char *root = file->root;
    try_debug(f, root, path_of(b, "%.*s/%.*s", STR_ARG(dir), STR_ARG(l.name)), &l.crc);
    try_debug(f, root, path_of(b, "%.*s/.debug/%.*s", STR_ARG(dir), STR_ARG(l.name)), &l.crc);
    for (size_t i = 0; i < n_dirs(f); i++) {
        try_debug(f, NULL, path_of(b, "%s%.*s/%.*s", dir_at(f, i), STR_ARG(dir), STR_ARG(l.name)),
                  &l.crc);
        try_debug(f, NULL, path_of(b, "%s/%.*s", dir_at(f, i), STR_ARG(l.name)), &l.crc);
    }
}

/* Searches a flat directory of debug files: NAME.debug. */
static void find_beside(finder *f, buf *b)
{
    str base = str_base_name(f->id->name);
    for (size_t i = 0; base.n && i < f->dirs.n; i++)
        try_debug(f, NULL, path_of(b, "%s/%.*s.debug", f->dirs.v[i], STR_ARG(base)), NULL);
}

static bool try_alt(finder *f, const char *root, const char *path, str build_id)
{
    found_file x = {0};
    if (f->out->alt.path || !open_elf(f, root, path, &x)) return false;
    if (!str_eq(elf_build_ids(&x.elf).gnu, build_id)) {
        close_elf(&x);
        return false;
    }
    f->out->alt = x;
    return true;
}

static void find_alt(finder *f, buf *b)
{
    const found_file *d = f->out->debug_is_file ? &f->out->file : &f->out->debug;
    elf_link l = d->path ? elf_alt_link(&d->elf) : (elf_link){.name = STR("")};
    if (!l.name.n || l.build_id.n < 2 || l.build_id.n > BUILD_ID_BYTES_MAX) return;
    char hex[2 * BUILD_ID_BYTES_MAX + 1];
    hex_of(l.build_id, hex);
    str dir = dir_of(path_in_root(d));
    if (l.name.p[0] == '/')
        try_alt(f, d->root, path_of(b, "%.*s", STR_ARG(l.name)), l.build_id);
    else
        try_alt(f, d->root, path_of(b, "%.*s/%.*s", STR_ARG(dir), STR_ARG(l.name)), l.build_id);
    for (size_t i = 0; i < n_dirs(f); i++)
        try_alt(f, NULL, path_of(b, "%s/.build-id/%.2s/%s.debug", dir_at(f, i), hex, hex + 2),
                l.build_id);
    f->out->alt_missing = !f->out->alt.path;
}

/* Finds the binary and, unless only_binary is set, the debug file. */
static void find_both(finder *f, buf *b)
{
    const binary_id *id = f->id;
    found_files *out = f->out;
    *out = (found_files){0};
    find_file(f, b);
    build_ids ids = out->file.path ? elf_build_ids(&out->file.elf) : (build_ids){0};
    if (ids.gnu.n)
        hex_of(ids.gnu, f->gnu);
    else if (id->gnu.n < sizeof f->gnu)
        for (size_t i = 0; i < id->gnu.n; i++)
            f->gnu[i] = (char)(id->gnu.p[i] >= 'A' && id->gnu.p[i] <= 'F' ? id->gnu.p[i] | 0x20
                                                                          : id->gnu.p[i]);
    if (strspn(f->gnu, "0123456789abcdef") != strlen(f->gnu))
        f->gnu[0] = '\0'; /* ignored, because it would become part of a path */
    find_by_id(f, b);
    find_by_link(f, b);
    find_beside(f, b);
    find_fetched(f, b);
    if (out->file.path) out->differs = false;
}

void find_files(const binary_id *id, find_dirs dirs, arena *a, found_files *out)
{
    finder f = {.id = id, .dirs = dirs, .a = a, .out = out};
    buf b = {0};
    find_both(&f, &b);
    out->debug_is_file = !out->debug.path && out->file.path;
    find_alt(&f, &b);
    buf_free(&b);
}

void find_binary(const binary_id *id, find_dirs dirs, arena *a, found_files *out)
{
    finder f = {.id = id, .dirs = dirs, .a = a, .out = out, .only_binary = true};
    buf b = {0};
    find_both(&f, &b);
    buf_free(&b);
}

const elf_file *found_debug(const found_files *f)
{
    if (f->debug.path) return &f->debug.elf;
    return f->debug_is_file ? &f->file.elf : NULL;
}

void find_release(found_files *f)
{
    if (f->file.path) close_elf(&f->file);
    if (f->debug.path) close_elf(&f->debug);
    if (f->alt.path) close_elf(&f->alt);
}
