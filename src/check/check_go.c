/* Reads protobuf like Go's decoder (profcheck.h), including its treatment of groups and wire types. */
#include "check/profcheck.h"

#include "base/utf8.h"
#include "wire/schema.h"

#include "base/ban.h"

/* ---- the wire ---- */

bool go_varint(go_cur *c, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 10 && c->p < c->end; i++) {
        uint8_t b = *c->p++;
        if (i == 9 && b > 1) return false;
        r |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) return *v = r, true;
    }
    return false;
}

enum { GO_DEPTH = 10000, GO_MAX_NUMBER = (1 << 29) - 1 };

static bool take(go_cur *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->p)) return false;
    c->p += n;
    return true;
}

/* Reads the value of a field after its tag; not for groups. */
static bool value(go_cur *c, go_field *f)
{
    f->data = c->p;
    switch (f->wire) {
    case 0: return go_varint(c, &f->value);
    case 1:
    case 5: {
        size_t n = f->wire == 1 ? 8 : 4;
        f->value = 0;
        if ((size_t)(c->end - c->p) < n) return false;
        for (size_t i = n; i-- > 0;) f->value = f->value << 8 | c->p[i];
        return take(c, n);
    }
    case 2:
        if (!go_varint(c, &f->value)) return false;
        f->data = c->p;
        return take(c, f->value);
    default: return false;
    }
}

/* Skips an unknown group with its end tag, including nested groups up to Go's recursion limit. */
static bool skip_group(go_cur *c, uint32_t number)
{
    uint32_t open[GO_DEPTH + 1]; /* numbers of the open groups: 40 kB instead of recursion */
    size_t depth = 1;
    open[0] = number;
    while (depth) {
        uint64_t tag;
        go_field f;
        if (!go_varint(c, &tag) || tag >> 3 == 0 || tag >> 3 > INT32_MAX) return false;
        f.number = (uint32_t)(tag >> 3), f.wire = tag & 7;
        if (f.wire == 3) {
            if (depth == ARRAY_LEN(open)) return false;
            open[depth++] = f.number;
        } else if (f.wire == 4) {
            if (open[--depth] != f.number) return false;
        } else if (!value(c, &f)) {
            return false;
        }
    }
    return true;
}

bool go_next(go_cur *c, go_field *f, bool *bad)
{
    uint64_t tag;
    if (c->p == c->end || *bad) return false;
    *bad = true;
    if (!go_varint(c, &tag) || tag >> 3 == 0 || tag >> 3 > GO_MAX_NUMBER) return false;
    *f = (go_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7, .data = c->p};
    if (!(f->wire == 3 ? skip_group(c, f->number) : value(c, f))) return false;
    *bad = false;
    return true;
}

/* ---- validation as a ProfilesData, by the schema, without recursion ---- */

typedef struct level {
    const message_desc *m;
    go_cur c;
} level;

static bool varints_ok(const go_field *f)
{
    go_cur c = {f->data, f->data + f->value};
    for (uint64_t v; c.p < c.end;)
        if (!go_varint(&c, &v)) return false;
    return true;
}

/* Returns NULL, or why Go rejects the field. Sets *down for a message to validate next. */
static const char *judge(const field_desc *fd, const go_field *f, bool *down)
{
    *down = false;
    if (!fd) return NULL;
    if (f->wire == 2 && field_packable(fd)) {
        bool ok = field_wire_type(fd) == 1 ? f->value % 8 == 0 : varints_ok(f);
        return ok ? NULL : "proto: cannot parse invalid wire-format data";
    }
    if (f->wire != field_wire_type(fd)) return NULL; /* an unknown field for Go */
    if (fd->type == FT_STRING && !utf8_ok((const char *)f->data, f->value))
        return "string field contains invalid UTF-8";
    *down = fd->type == FT_MESSAGE;
    return NULL;
}

const char *go_validate(const void *p, size_t n, arena *a, bool *limit)
{
    static const uint8_t none[1];
    const uint8_t *b = p ? p : none;
    VEC(level) stack = {0};
    bool bad = false;
    level *top = vec_push(a, &stack);
    if (!top) return *limit = true, NULL;
    *top = (level){schema_profiles_data(LAYOUT_CURRENT), {b, b + n}};
    while (stack.n) {
        top = &stack.v[stack.n - 1];
        go_field f;
        if (!go_next(&top->c, &f, &bad)) {
            if (bad) return "proto: cannot parse invalid wire-format data";
            stack.n--;
            continue;
        }
        bool down;
        const field_desc *fd = message_field(top->m, f.number);
        const char *why = judge(fd, &f, &down);
        if (why) return why;
        if (!down) continue;
        if (stack.n == GO_DEPTH) return "proto: exceeded maximum recursion depth";
        level *next = vec_push(a, &stack);
        if (!next) return *limit = true, NULL;
        *next = (level){fd->message, {f.data, f.data + f.value}};
    }
    return NULL;
}

/* ---- the dictionary ---- */

bool go_take_i32s(const go_field *f, arena *a, i32s *out)
{
    uint64_t v = f->value;
    if (f->wire == 0) {
        if (!vec_reserve(a, out, 1)) return false;
        out->v[out->n++] = (int32_t)(uint32_t)v;
        return true;
    }
    for (go_cur c = {f->data, f->data + f->value}; c.p < c.end;) {
        if (!go_varint(&c, &v) || !vec_reserve(a, out, 1)) return false;
        out->v[out->n++] = (int32_t)(uint32_t)v;
    }
    return true;
}

typedef struct entry {
    arena *a;
    go_dict *d;
    const go_field *f;
    bool unlike; /* not the zero message: a field is set or unknown */
} entry;

static int32_t i32(const go_field *g) { return (int32_t)(uint32_t)g->value; }

#define EACH_FIELD(e, g)                                                                           \
    go_cur c_ = {(e)->f->data, (e)->f->data + (e)->f->value};                                      \
    bool bad_ = false;                                                                             \
    for (go_field g; go_next(&c_, &g, &bad_);)
#define TAG(number, wire) ((number) << 3 | (wire))

static bool take_mapping(entry *e)
{
    go_mapping m = {.attrs.at = e->d->refs.n};
    EACH_FIELD(e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 0): m.start = g.value; break;
    case TAG(2, 0): m.limit = g.value; break;
    case TAG(3, 0): m.file_offset = g.value; break;
    case TAG(4, 0): m.filename = i32(&g); break;
    case TAG(5, 0):
    case TAG(5, 2):
        if (!go_take_i32s(&g, e->a, &e->d->refs)) return false;
        break;
    default: e->unlike = true;
    }
    m.attrs.n = e->d->refs.n - m.attrs.at;
    e->unlike |= m.start || m.limit || m.file_offset || m.filename || m.attrs.n;
    go_mapping *to = vec_push(e->a, &e->d->mappings);
    return to && (*to = m, true);
}

static bool take_line(arena *a, go_dict *d, const go_field *f)
{
    entry e = {a, d, f, false};
    go_line l = {0};
    EACH_FIELD(&e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 0): l.function = i32(&g); break;
    case TAG(2, 0): l.line = (int64_t)g.value; break;
    case TAG(3, 0): l.column = (int64_t)g.value; break;
    default: break;
    }
    go_line *to = vec_push(a, &d->lines);
    return to && (*to = l, true);
}

static bool take_location(entry *e)
{
    go_location l = {.lines.at = e->d->lines.n, .attrs.at = e->d->refs.n};
    uint64_t address = 0;
    EACH_FIELD(e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 0): l.mapping = i32(&g); break;
    case TAG(2, 0): address = g.value; break;
    case TAG(3, 2):
        if (!take_line(e->a, e->d, &g)) return false;
        break;
    case TAG(4, 0):
    case TAG(4, 2):
        if (!go_take_i32s(&g, e->a, &e->d->refs)) return false;
        break;
    default: e->unlike = true;
    }
    l.lines.n = e->d->lines.n - l.lines.at;
    l.attrs.n = e->d->refs.n - l.attrs.at;
    e->unlike |= l.mapping || address || l.lines.n || l.attrs.n;
    go_location *to = vec_push(e->a, &e->d->locations);
    return to && (*to = l, true);
}

static bool take_function(entry *e)
{
    go_function x = {0};
    EACH_FIELD(e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 0): x.name = i32(&g); break;
    case TAG(2, 0): x.system_name = i32(&g); break;
    case TAG(3, 0): x.filename = i32(&g); break;
    case TAG(4, 0): x.start_line = (int64_t)g.value; break;
    default: e->unlike = true;
    }
    e->unlike |= x.name || x.system_name || x.filename || x.start_line;
    go_function *to = vec_push(e->a, &e->d->functions);
    return to && (*to = x, true);
}

static bool take_link(entry *e)
{
    go_link l = {0};
    EACH_FIELD(e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 2): l.trace_len = g.value; break;
    case TAG(2, 2): l.span_len = g.value; break;
    default: e->unlike = true;
    }
    e->unlike |= l.trace_len || l.span_len;
    go_link *to = vec_push(e->a, &e->d->links);
    return to && (*to = l, true);
}

static bool take_string(entry *e)
{
    str *to = vec_push(e->a, &e->d->strings);
    return to && (*to = (str){(const char *)e->f->data, (size_t)e->f->value}, true);
}

/* Returns whether the field sets a member of AnyValue's oneof: it has the right wire type. */
static bool any_set(const go_field *f)
{
    static const uint8_t wire_of[9] = {9, 2, 0, 0, 1, 2, 2, 2, 0};
    entry e = {.f = f};
    EACH_FIELD(&e, g)
    if (g.number <= 8 && g.wire == wire_of[g.number]) return true;
    return false;
}

static bool take_attribute(entry *e)
{
    go_attribute x = {0};
    EACH_FIELD(e, g)
    switch (TAG(g.number, g.wire)) {
    case TAG(1, 0): x.key = i32(&g); break;
    case TAG(2, 2): e->unlike |= any_set(&g); break;
    case TAG(3, 0): x.unit = i32(&g); break;
    default: break;
    }
    go_attribute *to = vec_push(e->a, &e->d->attributes);
    return to && (*to = x, true);
}

static bool take_stack(entry *e)
{
    go_span s = {e->d->refs.n, 0};
    EACH_FIELD(e, g)
    {
        if (g.number != 1 || (g.wire != 0 && g.wire != 2))
            e->unlike = true;
        else if (!go_take_i32s(&g, e->a, &e->d->refs))
            return false;
    }
    s.n = e->d->refs.n - s.at;
    e->unlike |= s.n > 0;
    go_span *to = vec_push(e->a, &e->d->stacks);
    return to && (*to = s, true);
}

static bool take_entry(arena *a, go_dict *d, const go_field *f)
{
    entry e = {a, d, f, false};
    if (f->wire != 2) return true;
    switch (f->number) {
#define ENTRY(no, take_it, table, flag)                                                            \
    case no:                                                                                       \
        if (!take_it(&e)) return false;                                                            \
        if (d->table.n == 1) d->flag = e.unlike;                                                   \
        return true
        ENTRY(1, take_mapping, mappings, mapping_0);
        ENTRY(2, take_location, locations, location_0);
        ENTRY(3, take_function, functions, function_0);
        ENTRY(4, take_link, links, link_0);
        ENTRY(6, take_attribute, attributes, attribute_0_value);
        ENTRY(7, take_stack, stacks, stack_0);
#undef ENTRY
    case 5: return take_string(&e);
    default: return true;
    }
}

bool go_decode_dict(const void *p, size_t n, arena *a, go_dict *out)
{
    *out = (go_dict){0};
    entry all = {.f = &(go_field){.data = p, .value = n}};
    if (!n) return true;
    EACH_FIELD(&all, g)
    {
        if (g.number != 2 || g.wire != 2) continue;
        out->present = true;
        go_cur c = {g.data, g.data + g.value};
        bool bad = false;
        for (go_field f; go_next(&c, &f, &bad);)
            if (!take_entry(a, out, &f)) return false;
    }
    return true;
}
