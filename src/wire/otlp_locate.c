/* Finds the first error of a message by the schema tables.  With `ranges` there are two walks: the first
 * checks the shape and counts the tables, the second checks every index. */
#include "wire/locate.h"

#include "wire/otlp.h"

#include "base/ban.h"
#include <inttypes.h>

static bool index_ok(locator *w, const field_desc *fd, pb_cur *c, const uint8_t *at, uint64_t v)
{
    size_t n = w->table[fd->target];
    int32_t i = (int32_t)(uint32_t)v;
    if (!w->ranges || fd->target == TABLE_NONE || i == 0) return true;
    static const char *const names[TABLE_COUNT] = {
        "",           "string_table",    "mapping_table", "location_table",   "function_table",
        "link_table", "attribute_table", "stack_table",   "location_indices", "sample_type"};
    const uint8_t *broken = w->broken[fd->target];
    if (i > 0 && (size_t)i < n && !(broken && broken[i])) return true;
    w->fault = OTLP_FAULT_INDEX;
    if (i < 0) return pb_fail(c, at, "index %" PRId32 " is negative", i);
    if ((size_t)i < n) return pb_fail(c, at, "%s[%" PRId32 "] is broken", names[fd->target], i);
    return pb_fail(c, at, "index %" PRId32 " is outside %s, which has %zu %s", i, names[fd->target],
                   n, n == 1 ? "entry" : "entries");
}

static bool walk_packed(locator *w, const field_desc *fd, pb_cur *c, const pb_field *f, size_t *k)
{
    if (field_wire_type(fd) == 1) {
        if (f->value % 8)
            return pb_fail(c, f->at, "packed %s has %" PRIu64 " bytes, not a multiple of 8",
                           fd->name, f->value);
        return true;
    }
    pb_cur p = pb_message(c, f);
    uint64_t v;
    while (p.p < p.end) {
        const uint8_t *at = p.p;
        if (!pb_varint(&p, &v) || !index_ok(w, fd, &p, at, v)) {
            c->bad = true;
            return false;
        }
        ++*k;
    }
    return true;
}

static bool walk_value(locator *w, const field_desc *fd, pb_cur *c, const pb_field *f,
                       unsigned depth)
{
    str s;
    size_t want;
    switch ((field_type)fd->type) {
    case FT_STRING:
        if (!w->strict || pb_text(c, f, fd->name, &s)) return true;
        w->fault = OTLP_FAULT_UTF8;
        return false;
    case FT_BYTES:
        want = field_id_size(fd);
        if (!w->strict || !(fd->flags & FF_ID) || f->value == 0 || f->value == want) return true;
        w->fault = OTLP_FAULT_ID;
        return pb_fail(c, f->at, "%s is %" PRIu64 " long, expected %zu or none", fd->name, f->value,
                       want);
    case FT_MESSAGE:
        /* AnyValue is the only recursive message of the schema. */
        if (strcmp(fd->message->name, "AnyValue") == 0 && depth >= OTLP_MAX_DEPTH) {
            c->bad = true;
            w->fault = OTLP_FAULT_DEPTH;
            return err_at(c->e, ERR_LIMIT, pb_offset(c, f->at), "values nest deeper than %d",
                          OTLP_MAX_DEPTH);
        }
        return locate_message(w, fd->message, pb_message(c, f),
                              strcmp(fd->message->name, "AnyValue") == 0 ? depth + 1 : depth);
    default: return index_ok(w, fd, c, f->at, f->value);
    }
}

/* Returns the number of elements of a repeated field before `until` in the message that starts at
 * `begin`. */
static size_t elements_before(const field_desc *fd, const pb_cur *c, const uint8_t *begin,
                              const uint8_t *until)
{
    pb_cur p = {.p = begin, .end = c->end, .base = c->base};
    size_t n = 0;
    for (pb_field f; p.p < until && pb_next(&p, &f) && f.at < until;) {
        if (f.number != fd->number) continue;
        if (f.wire == 2 && field_packable(fd)) {
            for (uint64_t i = 0; i < f.value; i++) n += f.data[i] < 0x80;
            if (field_wire_type(fd) == 1) n = n - (size_t)f.value + (size_t)f.value / 8;
        } else {
            n++;
        }
    }
    return n;
}

/* Every protobuf parser treats a field with another wire type than in the schema as unknown.  It is
 * skipped here too, because only errors of the decoder are errors here. */
bool locate_takes(const field_desc *fd, const pb_field *f)
{
    return f->wire == field_wire_type(fd) || (f->wire == 2 && field_packable(fd));
}

bool locate_field(locator *w, const field_desc *fd, pb_cur *c, const pb_field *f, unsigned depth,
                  size_t *packed)
{
    *packed = 0;
    if (f->wire == 2 && field_packable(fd)) return walk_packed(w, fd, c, f, packed);
    return walk_value(w, fd, c, f, depth);
}

bool locate_message(locator *w, const message_desc *m, pb_cur c, unsigned depth)
{
    const uint8_t *begin = c.p;
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *fd = message_field(m, f.number);
        if (!fd || !locate_takes(fd, &f)) continue;
        size_t *fills = &(w->ranges ? w->seen : w->table)[fd->fills];
        size_t packed;
        bool list = f.wire == 2 && field_packable(fd);
        if (!locate_field(w, fd, &c, &f, depth, &packed)) {
            if (!(fd->flags & FF_REPEATED)) return err_in(c.e, "%s", fd->name);
            size_t i = fd->fills && !list ? *fills : elements_before(fd, &c, begin, f.at) + packed;
            return err_in(c.e, "%s[%zu]", fd->name, i);
        }
        if (fd->fills) *fills += list ? packed : 1;
    }
    return pb_ok(&c);
}

bool otlp_locate(const void *p, size_t n, layout l, bool ranges, err *e)
{
    const message_desc *m = schema_profiles_data(l);
    if (!m) return true;
    locator w = {.strict = ranges};
    if (!locate_message(&w, m, pb_open(p, n, e), 0)) return false;
    w.ranges = ranges;
    return !ranges || locate_message(&w, m, pb_open(p, n, e), 0);
}
