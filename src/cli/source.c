/* Finds source files. A profile has the paths of the build machine, so leading directories are
 * dropped one by one. */
#include "cli/source.h"

#include "base/buf.h"
#include "base/ban.h"

/* Takes the next directory from *list. Returns false at the end. */
static bool next_dir(const char **list, str *out)
{
    while (*list && **list) {
        size_t n = strcspn(*list, ":");
        *out = (str){*list, n};
        *list += n + ((*list)[n] == ':');
        if (n) return true;
    }
    return false;
}

static bool try_path(str dir, str name, source_text *out)
{
    buf b = {0};
    err ignored = {0};
    buf_str(&b, dir);
    if (dir.n && dir.p[dir.n - 1] != '/') buf_putc(&b, '/');
    buf_str(&b, name);
    buf_putc(&b, '\0');
    bool plain = !b.failed && !memchr(b.p, '\0', b.n - 1) && strcmp(b.p, "-") != 0;
    if (plain && file_read(b.p, SOURCE_MAX_BYTES, &out->file, &ignored)) {
        out->path = b.p;
        return true;
    }
    buf_free(&b);
    return false;
}

static str trimmed(str name, const char *trim)
{
    for (str t; next_dir(&trim, &t);) {
        if (!str_starts(name, t)) continue;
        name = (str){name.p + t.n, name.n - t.n};
        while (name.n && name.p[0] == '/') name = (str){name.p + 1, name.n - 1};
        break;
    }
    return name;
}

bool source_find(str name, const char *dirs, const char *trim, source_text *out)
{
    *out = (source_text){0};
    if (name.n && name.p[0] == '/' && try_path((str){0}, name, out)) return true;
    return source_find_below(name, dirs, trim, out);
}

bool source_find_below(str name, const char *dirs, const char *trim, source_text *out)
{
    *out = (source_text){0};
    if (!dirs) dirs = ".";
    for (str dir; next_dir(&dirs, &dir);)
        for (str rest = trimmed(name, trim); rest.n;) {
            while (rest.n && rest.p[0] == '/') rest = (str){rest.p + 1, rest.n - 1};
            if (rest.n && try_path(dir, rest, out)) return true;
            const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
            size_t n = slash ? (size_t)(slash - rest.p) + 1 : rest.n;
            rest = (str){rest.p + n, rest.n - n};
        }
    return false;
}

void source_text_close(source_text *s)
{
    file_release(&s->file);
    free(s->path);
}

str source_line(const source_text *s, source_at *at, int64_t n)
{
    str text = s->file.bytes;
    if (!at->line) at->line = 1;
    while (at->offset < text.n) {
        const char *p = text.p + at->offset, *end = memchr(p, '\n', text.n - at->offset);
        size_t len = end ? (size_t)(end - p) : text.n - at->offset;
        if (at->line == n) return (str){p, len && p[len - 1] == '\r' ? len - 1 : len};
        at->offset += len + 1;
        at->line++;
    }
    return (str){0};
}
