/* The table of frames: interns texts and frames, builds labels, and cleans paths as pprof does. */
#include "query/frame.h"

#include "base/buf.h"
#include "base/ban.h"
#include <inttypes.h>

const char *granularity_name(granularity g)
{
    static const char *const names[GRANULARITY_COUNT] = {
        [BY_FUNCTION] = "functions", [BY_FILE_FUNCTION] = "filefunctions",
        [BY_FILE] = "files",         [BY_LINE] = "lines",
        [BY_ADDRESS] = "addresses",  [BY_MAPPING] = "mappings",
    };
    return names[g];
}

/* ---- paths ---- */

str path_base(str path)
{
    if (!path.n) return STR(".");
    while (path.n && path.p[path.n - 1] == '/') path.n--;
    if (!path.n) return STR("/");
    const char *slash = memrchr(path.p, '/', path.n);
    if (!slash) return path;
    return (str){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}

static bool is_clean(str path)
{
    if (path.n > 1 && path.p[path.n - 1] == '/') return false;
    for (size_t i = 0; i < path.n; i++) {
        bool begins = i == 0 || path.p[i - 1] == '/';
        if (path.p[i] == '/' && i && begins) return false;
        if (path.p[i] != '.' || !begins) continue;
        str rest = {path.p + i, path.n - i};
        bool dot = (rest.n == 1 || rest.p[1] == '/') && path.n > 1;
        bool up = rest.n >= 2 && rest.p[1] == '.' && (rest.n == 2 || rest.p[2] == '/');
        if (dot || up) return false;
    }
    return true;
}

str path_clean(str path, arena *a)
{
    if (is_clean(path)) return path.n ? path : STR("");
    bool rooted = path.p[0] == '/';
    char *out = arena_alloc(a, path.n + 1);
    if (!out) return (str){0};
    size_t n = 0,
           keep = 0; /* out[0 .. keep) is ".." parts or the root, which ".." does not remove */
    if (rooted) out[n++] = '/', keep = 1;
    for (size_t i = 0; i < path.n;) {
        const char *slash = memchr(path.p + i, '/', path.n - i);
        size_t len = slash ? (size_t)(slash - path.p) - i : path.n - i;
        str step = {path.p + i, len};
        i += len + 1;
        if (!len || str_eq(step, STR("."))) continue;
        bool up = str_eq(step, STR(".."));
        if (up && n > keep) {
            while (n > keep && out[n - 1] != '/') n--;
            if (n > keep) n--; /* the slash before it */
            continue;
        }
        if (up && rooted) continue;
        if (n && out[n - 1] != '/') out[n++] = '/';
        memcpy(out + n, step.p, len);
        n += len;
        if (up) keep = n;
    }
    if (!n) out[n++] = '.';
    arena_trim(a, out, path.n + 1, n);
    return (str){out, n};
}

/* ---- texts ---- */

bool frame_table_init(frame_table *f, granularity by, arena *a, err *e)
{
    *f = (frame_table){.a = a, .by = by};
    uint32_t empty;
    return frame_table_text(f, STR(""), &empty, e);
}

bool frame_table_text(frame_table *f, str s, uint32_t *out, err *e)
{
    if (!hash_index_room(&f->by_text, f->a)) return err_memory(e);
    uint64_t h = hash_bytes(s.p, s.n, f->by_text.seed);
    uint32_t k = hash_first(&f->by_text, h), at;
    for (; hash_next(&f->by_text, &k, h, &at); k++)
        if (str_eq(f->texts.v[at], s)) return *out = at, true;
    str *slot = vec_push(f->a, &f->texts);
    if (!slot || f->texts.n > UINT32_MAX) return err_memory(e);
    *slot = s;
    *out = (uint32_t)(f->texts.n - 1);
    hash_put(&f->by_text, k, h, *out);
    return true;
}

/* ---- frames ---- */

/* Removes the parts of p that the granularity ignores.  The mapping matters only when nothing
 * else is known. */
static frame_parts reduced(granularity by, const frame_parts *p)
{
    frame_parts r = {.flags = p->flags};
    bool named = p->name != 0;
    if (by == BY_MAPPING) {
        r.mapping = p->mapping;
        if (p->flags & FRAME_TAG) r.name = p->name;
        return r;
    }
    if (by != BY_FILE) r.name = p->name;
    if (by != BY_FUNCTION) r.file = p->file;
    if (by == BY_LINE || by == BY_ADDRESS) r.line = p->line;
    if (by == BY_ADDRESS) r.address = p->address;
    if (by == BY_FILE ? !p->file : !named) r.mapping = p->mapping;
    return r;
}

static bool make_label(frame_table *f, frame *x, err *e)
{
    str name = f->texts.v[x->name], file = f->texts.v[x->file], map = f->texts.v[x->mapping];
    bool plain = !x->address && !x->line && !(name.n && file.n);
    x->label = name.n ? name : file.n ? file : STR("<unknown>");
    if (plain && (name.n || file.n || !map.n)) return true;
    str base = path_base(map);
    bool in_brackets = !name.n && !file.n && !x->line && map.n;
    size_t room = name.n + file.n + base.n + 64;
    char *p = arena_alloc(f->a, room), *q = p;
    if (!p) return err_memory(e);
    char *end = p + room;
    if (x->address) q += snprintf(q, (size_t)(end - q), "%016" PRIx64 " ", x->address);
    if (name.n) q += snprintf(q, (size_t)(end - q), "%.*s ", STR_ARG(name));
    if (x->line)
        q += snprintf(q, (size_t)(end - q), "%.*s:%" PRId64 " ", STR_ARG(file), x->line);
    else if (file.n)
        q += snprintf(q, (size_t)(end - q), "%.*s ", STR_ARG(file));
    else if (in_brackets)
        q += snprintf(q, (size_t)(end - q), base.p[0] == '[' ? "%.*s " : "[%.*s] ", STR_ARG(base));
    else if (!name.n)
        q += snprintf(q, (size_t)(end - q), "<unknown> ");
    size_t n = (size_t)(q - p) - 1; /* without the trailing space */
    arena_trim(f->a, p, room, n);
    x->label = (str){p, n};
    return true;
}

static bool same(const frame *x, const frame_parts *r)
{
    return x->name == r->name && x->file == r->file && x->mapping == r->mapping &&
           x->line == r->line && x->address == r->address && !((x->flags ^ r->flags) & FRAME_TAG);
}

static uint64_t key_hash(const frame_parts *r, uint64_t seed)
{
    uint64_t h = hash_mix(seed, (uint64_t)r->name << 32 | r->file);
    h = hash_mix(h, (uint64_t)r->mapping << 32 | (r->flags & FRAME_TAG));
    if (r->line) h = hash_mix(h, (uint64_t)r->line);
    if (r->address) h = hash_mix(h, r->address);
    return h;
}

bool frame_table_add(frame_table *f, const frame_parts *p, uint32_t *out, err *e)
{
    frame_parts r = reduced(f->by, p);
    if (!hash_index_room(&f->by_key, f->a)) return err_memory(e);
    uint64_t h = key_hash(&r, f->by_key.seed);
    uint32_t k = hash_first(&f->by_key, h), at;
    for (; hash_next(&f->by_key, &k, h, &at); k++) {
        frame *x = &f->v.v[at];
        if (!same(x, &r)) continue;
        x->flags |= r.flags;
        return *out = at, true;
    }
    frame x = {.name = r.name,
               .file = r.file,
               .mapping = r.mapping,
               .flags = r.flags,
               .line = r.line,
               .address = r.address,
               .in_file = p->file,
               .in_mapping = p->mapping};
    if (!make_label(f, &x, e)) return false;
    frame *slot = vec_push(f->a, &f->v);
    if (!slot || f->v.n > PLACE_FRAMES_MAX)
        return err_set(e, ERR_LIMIT, "more than %u different frames", PLACE_FRAMES_MAX);
    *slot = x;
    *out = (uint32_t)(f->v.n - 1);
    hash_put(&f->by_key, k, h, *out);
    return true;
}
