/* The walk of detection: reads a message strictly by the tables of one layout, and stops at the
 * first field that does not fit.  It uses its own small cursor, because most walks end after a few
 * bytes and detection runs for every message that a server receives. */
#include "wire/detect.h"

#include "base/hash.h"
#include "base/utf8.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>

enum {
    PROBE_DEPTH = 208,    /* nested messages: 64 AnyValues and the envelope */
    PROBE_TAGS = 2 << 20, /* tags read after the limits on elements and bytes are reached */
    DUP_SCAN = 32,        /* values of a sample that are compared with each other */
};

static const struct {
    unsigned elements; /* walked in one parent */
    size_t bytes;      /* walked altogether */
} rounds[ROUND_COUNT] = {{4, 256 << 10}, {256, 1 << 20}, {4096, LAYOUT_PROBE_BYTES}};

/* One step of the path.  Its index is counted only for messages. */
typedef struct probe_step {
    const field_desc *f;
    const uint8_t *parent, *at; /* start of the parent, tag of the field */
} probe_step;

/* ---- reading tags ---- */

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
    const uint8_t *p = *at;
    if (LIKELY(p < end && *p < 0x80)) {
        *v = *p;
        *at = p + 1;
        return true;
    }
    uint64_t r = 0;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t b = *p++;
        if (shift == 63 && b > 1) return false;
        r |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *v = r;
            *at = p;
            return true;
        }
    }
    return false;
}

const char *probe_next(const uint8_t **at, const uint8_t *end, wire_field *f)
{
    uint64_t tag;
    if (!varint(at, end, &tag)) return "ends inside a tag";
    if (tag > UINT32_MAX || tag >> 3 == 0) return "has a field number that is not allowed";
    f->number = (uint32_t)(tag >> 3);
    f->wire = (uint32_t)(tag & 7);
    f->data = NULL;
    size_t fixed = f->wire == 1 ? 8 : 4;
    switch (f->wire) {
    case 0: return varint(at, end, &f->value) ? NULL : "ends inside a varint";
    case 1:
    case 5:
        if ((size_t)(end - *at) < fixed) return "ends inside a fixed number";
        f->value = 0;
        for (size_t i = 0; i < fixed; i++) f->value |= (*at)[i];
        *at += fixed;
        return NULL;
    case 2:
        if (!varint(at, end, &f->value)) return "ends inside a length";
        f->data = *at;
        *at = f->value > (size_t)(end - *at) ? end : *at + f->value;
        return NULL;
    default: return "has a group, which OTLP never uses";
    }
}

/* ---- violations ---- */

static size_t step_index(const probe_step *s)
{
    size_t n = 0;
    wire_field f;
    for (const uint8_t *p = s->parent; p < s->at && !probe_next(&p, s->at, &f);)
        n += f.number == s->f->number;
    return n;
}

static void path_text(const probe *p, unsigned depth, char *out, size_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < depth && at < n; i++) {
        const probe_step *s = &p->path[i];
        const char *dot = i ? "." : "";
        int k = s->f->flags & FF_REPEATED
                    ? snprintf(out + at, n - at, "%s%s[%zu]", dot, s->f->name, step_index(s))
                    : snprintf(out + at, n - at, "%s%s", dot, s->f->name);
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Records the first violation; always returns false. */
PRINTF(4, 5)
static bool violation(probe *p, unsigned depth, const uint8_t *at, const char *fmt, ...)
{
    if (p->failed) return false;
    p->failed = true;
    p->at = (uint64_t)(at - p->base);
    if (p->brief) return false;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    path_text(p, depth, p->where, sizeof p->where);
    return false;
}

/* Records the first index outside its table. */
PRINTF(2, 3)
static void out_of_range(probe *p, const char *fmt, ...)
{
    p->range[0] = '?';
    if (p->brief) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->range, sizeof p->range, fmt, ap);
    va_end(ap);
}

static const char *wire_name(uint32_t wire)
{
    static const char *const text[] = {"a varint", "64-bit", "length-delimited",
                                       "?",        "?",      "32-bit"};
    return wire < ARRAY_LEN(text) ? text[wire] : "?";
}

/* ---- evidence ---- */

static void mark_field(probe *p, const message_desc *m, const field_desc *f)
{
    size_t h = (size_t)(hash_mix(0, (uintptr_t)f) % PROBE_MARKS);
    for (size_t i = 0; i < PROBE_MARKS; i++, h = (h + 1) % PROBE_MARKS) {
        if (p->marks[h].f == f) return;
        if (p->marks[h].f) continue;
        p->marks[h] = (probe_mark){m, f};
        return;
    }
}

static void use_index(probe *p, const message_desc *m, const field_desc *f, const uint8_t *at,
                      uint64_t v)
{
    probe_table *t = &p->tables[f->target];
    uint64_t need = v == UINT64_MAX ? v : v + 1;
    if (need <= t->need) return;
    *t = (probe_table){.n = t->n, .need = need, .m = m, .f = f, .at = at};
}

static void check_table(probe *p, unsigned kind)
{
    const probe_table *t = &p->tables[kind];
    /* Index 0 of a missing table means "not set" in every layout. */
    if (p->range[0] || (p->partial >> kind & 1) || !t->f || t->need <= (t->n ? t->n : 1)) return;
    out_of_range(p, "%s.%s is %" PRId64 ", its table has %" PRIu64 " entr%s", t->m->name,
                 t->f->name, (int64_t)(t->need - 1), t->n, t->n == 1 ? "y" : "ies");
}

/* Records a payload without a format, which P-53 requires: it may be a misread profile_id. */
static void check_payload(probe *p, const message_desc *m, bool payload, bool format)
{
    if (p->no_format[0] || !payload || format) return;
    snprintf(p->no_format, sizeof p->no_format, "%s.original_payload comes without its format",
             m->name);
}

/* ---- 1.9 or 1.10: does field 2 of a Sample hold values or attributes? ---- */

typedef struct sample_shape {
    unsigned n2, n4, n5;
    uint64_t v2[DUP_SCAN];
    bool odd2; /* a 0, or a repeated number */
} sample_shape;

static void shape_add(sample_shape *s, uint32_t number, uint64_t v)
{
    if (number == 4) s->n4++;
    if (number == 5) s->n5++;
    if (number != 2) return;
    s->odd2 |= v == 0;
    for (unsigned i = 0; i < s->n2 && i < DUP_SCAN; i++) s->odd2 |= s->v2[i] == v;
    if (s->n2 < DUP_SCAN) s->v2[s->n2] = v;
    s->n2++;
}

static void shape_judge(probe *p, const sample_shape *s)
{
    if (!s->n2) return;
    if (s->n5 && s->n2 != s->n5) p->is_v10 = true;
    if ((!s->n4 && !s->n5) || s->odd2) p->is_v9 = true;
}

/* ---- the walk ---- */

static bool scalar(probe *p, const message_desc *m, const field_desc *f, const uint8_t *at,
                   unsigned depth, uint64_t v, sample_shape *s)
{
    if (f->type == FT_BOOL && v > 1)
        return violation(p, depth, at, "%s field %u (%s) is %" PRIu64 ", expected a bool", m->name,
                         f->number, f->name, v);
    if (f->target) use_index(p, m, f, at, v);
    if (s) shape_add(s, f->number, v);
    return true;
}

static bool packed(probe *p, const message_desc *m, const field_desc *f, const wire_field *w,
                   const uint8_t *end, unsigned depth, sample_shape *s)
{
    if (field_wire_type(f) == 1) {
        if (w->value % 8)
            return violation(p, depth, w->data,
                             "%s field %u (%s) has %" PRIu64 " bytes, expected a multiple of 8",
                             m->name, f->number, f->name, w->value);
        for (uint64_t i = 0; s && i < w->value / 8; i++) shape_add(s, f->number, 0);
        return true;
    }
    for (const uint8_t *q = w->data; q < end;) {
        const uint8_t *at = q;
        uint64_t v;
        if (!varint(&q, end, &v))
            return violation(p, depth, at, "%s field %u (%s) is not a list of varints", m->name,
                             f->number, f->name);
        if (!scalar(p, m, f, at, depth, v, s)) return false;
    }
    return true;
}

static bool bytes(probe *p, const message_desc *m, const field_desc *f, const wire_field *w,
                  unsigned depth)
{
    if (f->type == FT_STRING) {
        size_t ok = utf8_valid((const char *)w->data, (size_t)w->value);
        if (ok != w->value)
            return violation(p, depth, w->data + ok, "%s field %u (%s) is not UTF-8", m->name,
                             f->number, f->name);
        if (f->fills == TABLE_STRING && p->tables[TABLE_STRING].n == 0 && w->value && !p->range[0])
            out_of_range(p, "%s.%s[0] is not empty", m->name, f->name);
    }
    if (!(f->flags & FF_ID)) return true;
    unsigned want = field_id_size(f);
    if (w->value == 0 || w->value == want) return true;
    return violation(p, depth, w->data, "%s field %u (%s) has %" PRIu64 " bytes, expected %u",
                     m->name, f->number, f->name, w->value, want);
}

/* Handles a field whose number is not in the table. */
static bool unknown_field(probe *p, const message_desc *m, const wire_field *w, const uint8_t *at,
                          unsigned depth)
{
    if (p->pass < PASS_UNKNOWN || w->number <= m->fields[m->n_fields - 1].number)
        return violation(p, depth, at, "%s has no field %u", m->name, w->number);
    if (!p->newer[0] && !p->brief)
        snprintf(p->newer, sizeof p->newer, "field %u of %s", w->number, m->name);
    p->unknown++;
    return true;
}

bool probe_right_wire(probe_pass how, const field_desc *f, uint32_t wire)
{
    if (field_packable(f)) return wire == 2 || (how >= PASS_LOOSE && wire == field_wire_type(f));
    return wire == field_wire_type(f);
}

static bool walk(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                 unsigned depth);

/* Walks a known field with the right wire type; `end` is the end of its bytes. */
static bool known_field(probe *p, const message_desc *m, const field_desc *f, const wire_field *w,
                        const uint8_t *at, const uint8_t *end, unsigned depth, sample_shape *s)
{
    p->known++;
    bool zero_counts = (f->flags & (FF_ONEOF | FF_OPTIONAL)) || (field_packable(f) && w->wire != 2);
    if (f->type != FT_MESSAGE && (w->value || zero_counts)) mark_field(p, m, f);
    bool ok;
    if (f->type == FT_MESSAGE) {
        p->path[depth].f = f;
        p->path[depth].at = at;
        ok = walk(p, f->message, w->data, end, depth + 1);
    } else if (w->wire != 2) {
        ok = scalar(p, m, f, at, depth, w->wire ? 0 : w->value, s);
    } else {
        ok = field_packable(f) ? packed(p, m, f, w, end, depth, s) : bytes(p, m, f, w, depth);
    }
    if (f->fills && f->type >= FT_STRING) p->tables[f->fills].n++;
    return ok;
}

static bool spend(size_t *left, size_t n)
{
    if (*left < n) return false;
    *left -= n;
    return true;
}

static unsigned filled_by(const message_desc *m)
{
    unsigned set = 0;
    for (size_t i = 0; i < m->n_fields; i++) set |= 1u << m->fields[i].fills;
    return set & ~1u;
}

/* Skips an element and counts it in its table.  Returns false when the rest of the parent need not
 * be read. */
static bool skip_element(probe *p, const message_desc *m, const field_desc *f)
{
    p->cut = true;
    unsigned fills = p->round == STUDY ? 0 : filled_by(m);
    if (p->round == GLANCE || (p->round == LOOK && !fills) || !spend(&p->tags, 1)) {
        /* A message that is not read may fill tables too. */
        p->partial |= f->flags & FF_LARGE ? ~0u : filled_by(m);
        return false;
    }
    if (f->fills && f->type >= FT_STRING) p->tables[f->fills].n++;
    return true;
}

/* Skips further elements of the same field: a profile may have a million samples in a row. */
static const uint8_t *skip_run(probe *p, const field_desc *f, const uint8_t *q, const uint8_t *end)
{
    uint8_t tag = (uint8_t)(f->number << 3 | 2);
    size_t n = 0;
    while (f->number < 16 && n < p->tags && end - q > 3 && *q == tag) {
        size_t len = q[1], head = 2;
        if (len >= 0x80) len = (len & 0x7f) | (size_t)q[2] << 7, head = 3;
        if ((head == 3 && q[2] >= 0x80) || len > (size_t)(end - q) - head) break;
        q += head + len;
        n++;
    }
    p->tags -= n;
    if (f->fills && f->type >= FT_STRING) p->tables[f->fills].n += n;
    return q;
}

static bool walk_fields(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                        unsigned depth, sample_shape *s)
{
    uint64_t once = 0; /* bit per singular field that was read */
    unsigned elements = 0;
    bool payload = false, format = false;
    while (q < end) {
        const uint8_t *at = q;
        wire_field w;
        const char *wrong = probe_next(&q, end, &w);
        if (wrong) return violation(p, depth, at, "%s %s", m->name, wrong);
        bool runs_over = w.wire == 2 && w.value > (size_t)(end - w.data);
        /* This is a violation, but the part of a truncated message that is present is still
         * evidence. */
        if (runs_over)
            violation(p, depth, at, "%s field %u needs %" PRIu64 " bytes, %zu are left", m->name,
                      w.number, w.value, (size_t)(end - w.data));
        const field_desc *f = message_field(m, w.number);
        if (!f) {
            if (!unknown_field(p, m, &w, at, depth)) return false;
            continue;
        }
        bool element = (f->flags & FF_REPEATED) && f->type >= FT_STRING;
        size_t cost = (size_t)((w.data && f->type == FT_MESSAGE ? w.data : q) - at);
        if (element && (++elements > rounds[p->round].elements || !spend(&p->bytes, cost))) {
            if (!skip_element(p, m, f)) return true;
            q = skip_run(p, f, q, end);
            continue;
        }
        if (!probe_right_wire(p->pass, f, w.wire))
            return violation(p, depth, at, "%s field %u (%s) is %s, expected %s", m->name, w.number,
                             f->name, wire_name(w.wire),
                             wire_name(field_packable(f) ? 2 : field_wire_type(f)));
        if (!(f->flags & (FF_REPEATED | FF_ONEOF)) && w.number < 64) {
            if ((once >> w.number & 1) && p->pass < PASS_LOOSE)
                return violation(p, depth, at, "%s field %u (%s) occurs twice", m->name, w.number,
                                 f->name);
            once |= UINT64_C(1) << w.number;
        }
        if (runs_over) w.value = (size_t)(end - w.data);
        if (!known_field(p, m, f, &w, at, q, depth, s)) return false;
        payload |= w.value && (f->flags & FF_PAYLOAD);
        format |= w.value && (f->flags & FF_PAYLOAD_FORMAT);
    }
    check_payload(p, m, payload, format);
    return true;
}

/* Walks a Profile that contains the tables `own`, and checks indices into them at its end. */
static bool walk_profile(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                         unsigned depth, unsigned own)
{
    probe_table outer[TABLE_COUNT];
    unsigned partial = p->partial;
    memcpy(outer, p->tables, sizeof outer);
    for (unsigned t = 1; t < TABLE_COUNT; t++)
        if (own >> t & 1) p->tables[t] = (probe_table){0};
    bool ok = walk_fields(p, m, q, end, depth, NULL);
    for (unsigned t = 1; t < TABLE_COUNT; t++) {
        if (!(own >> t & 1)) continue;
        check_table(p, t);
        p->tables[t] = outer[t];
    }
    p->partial = partial | (p->partial & ~own);
    return ok;
}

static bool walk(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                 unsigned depth)
{
    if (depth == PROBE_DEPTH)
        return violation(p, depth, q, "%s is nested more than %d deep", m->name, PROBE_DEPTH);
    p->path[depth].parent = q;
    if (m->kind == MESSAGE_SAMPLE && p->layout >= LAYOUT_1_9) {
        sample_shape s = {0};
        bool ok = walk_fields(p, m, q, end, depth, &s);
        shape_judge(p, &s);
        return ok;
    }
    unsigned own = m->kind == MESSAGE_PROFILE ? filled_by(m) : 0; /* v1.3 to v1.5: all tables */
    return own ? walk_profile(p, m, q, end, depth, own) : walk_fields(p, m, q, end, depth, NULL);
}

void probe_run(probe *p, layout l, probe_pass how, probe_round r, bool brief, const uint8_t *in,
               size_t n)
{
    probe_step path[PROBE_DEPTH];
    *p = (probe){.layout = l,
                 .brief = brief,
                 .path = path,
                 .pass = how,
                 .round = r,
                 .base = in,
                 .bytes = rounds[r].bytes,
                 .tags = PROBE_TAGS};
    walk(p, schema_profiles_data(l), in, in + n, 0);
    for (unsigned t = 1; t < TABLE_COUNT; t++) check_table(p, t);
    /* If most fields are unknown, this is another format rather than a newer sender. */
    if (p->unknown > 4 * p->known)
        violation(p, 0, in, "%" PRIu64 " of %" PRIu64 " fields are unknown", p->unknown,
                  p->unknown + p->known);
    p->path = NULL;
}
