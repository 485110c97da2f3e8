/* Which layout is it?  Every candidate parses the same bytes strictly by its own tables; the first
 * thing that does not belong there ends it.  What several survive is decided by index ranges, then by
 * rules (seed-formats.md 4.2).
 *
 *   pass    STRICT    packed lists, a singular field once: what encoders write
 *           LOOSE     unpacked lists and repeated singular fields (they merge) too
 *           UNKNOWN   field numbers above the highest known one too: a newer sender
 *   round   GLANCE    the first 4 elements of each parent; enough for nearly all messages
 *           LOOK      survivors of a tie: 256 elements, and how many entries the tables have
 *           STUDY     survivors again: 4096 elements, the tags of all others
 *
 * The next pass runs only when the one before leaves nobody whose indices land in their tables, and whose payloads have a format.
 * If no pass does, payloads may lack one, then ranges are left out: broken data, and the decoder says where. */
#include "wire/layout.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "wire/schema.h"

#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>

enum {
    PROBE_DEPTH = 208,    /* messages inside messages: 64 nested AnyValues and the envelope */
    PROBE_MARKS = 128,    /* fields of one layout: at most 98 */
    PROBE_TAGS = 2 << 20, /* read after elements or bytes are used up */
    PROBE_FIRST = 16,     /* fields of the first profile */
    DUP_SCAN = 32,        /* values of a sample compared with each other */
};

typedef enum round { GLANCE, LOOK, STUDY, ROUND_COUNT } round;

static const struct {
    unsigned elements; /* walked in one parent */
    size_t bytes;      /* walked in all */
} rounds[ROUND_COUNT] = {{4, 256 << 10}, {256, 1 << 20}, {4096, LAYOUT_PROBE_BYTES}};

typedef enum pass { PASS_STRICT, PASS_LOOSE, PASS_UNKNOWN, PASS_COUNT } pass;

/* One step of the path; its number is counted only if somebody asks. */
typedef struct step {
    const field_desc *f;
    const uint8_t *parent, *at; /* start of the parent, tag of the field */
} step;

typedef struct table {
    uint64_t n;    /* entries */
    uint64_t need; /* highest index that was used + 1 */
    const message_desc *m;
    const field_desc *f;
    const uint8_t *at;
} table;

typedef struct mark {
    const message_desc *m;
    const field_desc *f;
} mark;

typedef struct probe {
    layout layout;
    pass pass;
    round round;
    const uint8_t *base;
    size_t bytes, tags; /* left to spend */
    bool cut;           /* something was not seen */
    bool brief;         /* nobody reads the texts */
    unsigned partial;   /* bit per table: how many entries it has is not known */

    step *path;              /* PROBE_DEPTH of them */
    mark marks[PROBE_MARKS]; /* fields that say something: a hash set */
    table tables[TABLE_COUNT];
    uint64_t known, unknown;
    bool says_v9, says_v10; /* rule (c) */

    bool failed;
    uint64_t at;
    char why[128], where[128];
    char range[160]; /* first index outside its table; "" */
    char odd[64];    /* a payload without its format: weaker than an index; "" */
    char newer[64];  /* first unknown field; "" */
} probe;

/* ---- names ---- */

static const char *const names[LAYOUT_COUNT] = {"unknown", "1.3", "1.4", "1.5", "1.6",
                                                "1.7",     "1.8", "1.9", "1.10"};

const char *layout_name(layout l) { return (unsigned)l < LAYOUT_COUNT ? names[l] : names[0]; }

layout layout_from_name(str name)
{
    if (str_eq(name, STR("current"))) return LAYOUT_CURRENT;
    if (name.n && name.p[0] == 'v') name.p++, name.n--;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        if (str_eq(name, str_of(names[l]))) return l;
    return str_eq(name, STR("1.11")) ? LAYOUT_1_10 : LAYOUT_UNKNOWN;
}

const char *layout_confidence_name(layout_confidence c)
{
    static const char *const text[] = {"forced",   "unique",    "tie-equal",
                                       "tie-rule", "ambiguous", "none"};
    return (unsigned)c < ARRAY_LEN(text) ? text[c] : "none";
}

/* ---- reading tags ---- */

typedef struct wire_field {
    uint32_t number, wire;
    uint64_t value;      /* of a fixed number only whether it is 0 */
    const uint8_t *data; /* length-delimited: its bytes; they may run past the end */
} wire_field;

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

/* NULL, or what is wrong.  Leaves *at behind the field, or at `end` if that runs past it. */
static const char *next(const uint8_t **at, const uint8_t *end, wire_field *f)
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

static size_t step_index(const step *s)
{
    size_t n = 0;
    wire_field f;
    for (const uint8_t *p = s->parent; p < s->at && !next(&p, s->at, &f);)
        n += f.number == s->f->number;
    return n;
}

static void path_text(const probe *p, unsigned depth, char *out, size_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < depth && at < n; i++) {
        const step *s = &p->path[i];
        const char *dot = i ? "." : "";
        int k = s->f->flags & FF_REPEATED
                    ? snprintf(out + at, n - at, "%s%s[%zu]", dot, s->f->name, step_index(s))
                    : snprintf(out + at, n - at, "%s%s", dot, s->f->name);
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Keeps the first; always false. */
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

/* Keeps the first. */
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

/* ---- what was seen ---- */

static void mark_field(probe *p, const message_desc *m, const field_desc *f)
{
    size_t h = (size_t)(hash_mix(0, (uintptr_t)f) % PROBE_MARKS);
    for (size_t i = 0; i < PROBE_MARKS; i++, h = (h + 1) % PROBE_MARKS) {
        if (p->marks[h].f == f) return;
        if (p->marks[h].f) continue;
        p->marks[h] = (mark){m, f};
        return;
    }
}

static void use_index(probe *p, const message_desc *m, const field_desc *f, const uint8_t *at,
                      uint64_t v)
{
    table *t = &p->tables[f->target];
    uint64_t need = v == UINT64_MAX ? v : v + 1;
    if (need <= t->need) return;
    *t = (table){.n = t->n, .need = need, .m = m, .f = f, .at = at};
}

static void check_table(probe *p, unsigned kind)
{
    const table *t = &p->tables[kind];
    /* Index 0 of a table that is not there is "not set", in every layout. */
    if (p->range[0] || (p->partial >> kind & 1) || !t->f || t->need <= (t->n ? t->n : 1)) return;
    out_of_range(p, "%s.%s is %" PRId64 ", its table has %" PRIu64 " entr%s", t->m->name,
                 t->f->name, (int64_t)(t->need - 1), t->n, t->n == 1 ? "y" : "ies");
}

/* Both or none (P-53): a profile_id read as a payload has no format. */
static void check_payload(probe *p, const message_desc *m, bool payload, bool format)
{
    if (p->odd[0] || !payload || format) return;
    snprintf(p->odd, sizeof p->odd, "%s.original_payload comes without its format", m->name);
}

/* ---- rule (c): values or attribute indices? ---- */

typedef struct sample_shape {
    unsigned n2, n4, n5;
    uint64_t v2[DUP_SCAN];
    bool odd2; /* a 0, or one number twice */
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
    if (s->n5 && s->n2 != s->n5) p->says_v10 = true;
    if ((!s->n4 && !s->n5) || s->odd2) p->says_v9 = true;
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
            return violation(p, depth, at, "%s field %u (%s) is no list of varints", m->name,
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
    unsigned want = f->name[0] == 's' ? 8 : 16; /* span_id */
    if (w->value == 0 || w->value == want) return true;
    return violation(p, depth, w->data, "%s field %u (%s) has %" PRIu64 " bytes, expected %u",
                     m->name, f->number, f->name, w->value, want);
}

/* A field whose number is not in the table. */
static bool stranger(probe *p, const message_desc *m, const wire_field *w, const uint8_t *at,
                     unsigned depth)
{
    if (p->pass < PASS_UNKNOWN || w->number <= m->fields[m->n_fields - 1].number)
        return violation(p, depth, at, "%s has no field %u", m->name, w->number);
    if (!p->newer[0] && !p->brief)
        snprintf(p->newer, sizeof p->newer, "field %u of %s", w->number, m->name);
    p->unknown++;
    return true;
}

/* The wire type the table says, or a list the other way round. */
static bool right_wire(pass how, const field_desc *f, uint32_t wire)
{
    if (field_packable(f)) return wire == 2 || (how >= PASS_LOOSE && wire == field_wire_type(f));
    return wire == field_wire_type(f);
}

static bool walk(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                 unsigned depth);

/* One field that is known, with its right wire type; `end` is where its bytes end. */
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

/* An element that is not worth a look: only its table grows.  False ends the parent. */
static bool pass_over(probe *p, const message_desc *m, const field_desc *f)
{
    p->cut = true;
    unsigned fills = p->round == STUDY ? 0 : filled_by(m);
    if (p->round == GLANCE || (p->round == LOOK && !fills) || !spend(&p->tags, 1)) {
        /* Tables may also be filled further down, in a message that is not reached now. */
        p->partial |= f->flags & FF_LARGE ? ~0u : filled_by(m);
        return false;
    }
    if (f->fills && f->type >= FT_STRING) p->tables[f->fills].n++;
    return true;
}

/* More of the same behind an element that was passed over: a profile is a million samples in a row. */
static const uint8_t *pass_over_run(probe *p, const field_desc *f, const uint8_t *q,
                                    const uint8_t *end)
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
    uint64_t once = 0; /* singular fields so far */
    unsigned elements = 0;
    bool payload = false, format = false;
    while (q < end) {
        const uint8_t *at = q;
        wire_field w;
        const char *wrong = next(&q, end, &w);
        if (wrong) return violation(p, depth, at, "%s %s", m->name, wrong);
        bool runs_over = w.wire == 2 && w.value > (size_t)(end - w.data);
        /* Not what was asked for, but a cut message still shows which layout it was. */
        if (runs_over)
            violation(p, depth, at, "%s field %u wants %" PRIu64 " bytes, %zu are left", m->name,
                      w.number, w.value, (size_t)(end - w.data));
        const field_desc *f = message_field(m, w.number);
        if (!f) {
            if (!stranger(p, m, &w, at, depth)) return false;
            continue;
        }
        bool element = (f->flags & FF_REPEATED) && f->type >= FT_STRING;
        size_t cost = (size_t)((w.data && f->type == FT_MESSAGE ? w.data : q) - at);
        if (element && (++elements > rounds[p->round].elements || !spend(&p->bytes, cost))) {
            if (!pass_over(p, m, f)) return true;
            q = pass_over_run(p, f, q, end);
            continue;
        }
        if (!right_wire(p->pass, f, w.wire))
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
        payload |= w.value && f->type == FT_BYTES && !(f->flags & (FF_ID | FF_ONEOF));
        format |=
            w.value && f->type == FT_STRING && f->name[0] == 'o'; /* original_payload_format */
    }
    check_payload(p, m, payload, format);
    return true;
}

/* The tables that live inside m, if m is a Profile: v1.3 to v1.5 have all of them there. */
static unsigned own_tables(const message_desc *m)
{
    return str_eq(str_of(m->name), STR("Profile")) ? filled_by(m) : 0;
}

static bool walk_profile(probe *p, const message_desc *m, const uint8_t *q, const uint8_t *end,
                         unsigned depth, unsigned own)
{
    table outer[TABLE_COUNT];
    unsigned partial = p->partial;
    memcpy(outer, p->tables, sizeof outer);
    for (unsigned t = 1; t < TABLE_COUNT; t++)
        if (own >> t & 1) p->tables[t] = (table){0};
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
    if (m->name[0] == 'S' && p->layout >= LAYOUT_1_9 && str_eq(str_of(m->name), STR("Sample"))) {
        sample_shape s = {0};
        bool ok = walk_fields(p, m, q, end, depth, &s);
        shape_judge(p, &s);
        return ok;
    }
    unsigned own = m->name[0] == 'P' ? own_tables(m) : 0;
    return own ? walk_profile(p, m, q, end, depth, own) : walk_fields(p, m, q, end, depth, NULL);
}

static void probe_run(probe *p, layout l, pass how, round r, bool brief, const uint8_t *in,
                      size_t n)
{
    step path[PROBE_DEPTH];
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
    /* Bytes that are mostly unknown are something else, not a newer sender. */
    if (p->unknown > 4 * p->known)
        violation(p, 0, in, "%" PRIu64 " of %" PRIu64 " fields are unknown", p->unknown,
                  p->unknown + p->known);
    p->path = NULL;
}

/* ---- before the walk: most layouts are ruled out by the first profile and its first sample ---- */

typedef struct piece {
    const uint8_t *p, *end; /* NULL: there is none */
} piece;

/* The first length-delimited field of this number. */
static piece first_of(piece in, uint32_t number)
{
    wire_field w;
    for (unsigned i = 0; i < PROBE_FIRST && in.p < in.end && !next(&in.p, in.end, &w); i++)
        if (w.number == number && w.wire == 2 && w.value <= (size_t)(in.end - w.data))
            return (piece){w.data, w.data + w.value};
    return (piece){NULL, NULL};
}

/* false: a strict walk would stumble over one of the first fields of `in`, or of its first submessages. */
static bool begins_like(const message_desc *m, piece in, unsigned deeper)
{
    uint32_t last = 0;
    wire_field w;
    for (unsigned i = 0; i < PROBE_FIRST && in.p < in.end && !next(&in.p, in.end, &w); i++) {
        if (w.number == last) continue;
        last = w.number;
        const field_desc *f = message_field(m, w.number);
        if (!f || !right_wire(PASS_STRICT, f, w.wire)) return false;
        if (w.wire == 2 && w.value > (size_t)(in.end - w.data)) return true;
        piece inner = {0};
        if (w.wire == 2) inner = (piece){w.data, w.data + w.value};
        if (f->type == FT_MESSAGE && deeper && !begins_like(f->message, inner, deeper - 1))
            return false;
    }
    return true;
}

static const message_desc *message_in(const message_desc *m, uint32_t number)
{
    const field_desc *f = m ? message_field(m, number) : NULL;
    return f ? f->message : NULL;
}

/* resource_profiles[0].scope_profiles[0].profiles[0], in every layout; NULL: somewhere else. */
static piece first_profile(const uint8_t *in, size_t n)
{
    return first_of(first_of(first_of((piece){in, in + n}, 1), 2), 2);
}

static bool profile_fits(layout l, piece profile)
{
    const message_desc *m = message_in(message_in(message_in(schema_profiles_data(l), 1), 2), 2);
    return !m || !profile.p || begins_like(m, profile, 1);
}

/* ---- do two layouts read the same? ---- */

static bool same_name(const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b);
    if (n > k) return same_name(b, a);
    /* sample and samples, line and lines: renamed, not changed */
    return memcmp(a, b, n) == 0 && (n == k || (n + 1 == k && b[n] == 's'));
}

static const mark *find_mark(const probe *p, const mark *like)
{
    for (size_t i = 0; i < PROBE_MARKS; i++) {
        const mark *k = &p->marks[i];
        if (k->f && k->f->number == like->f->number && same_name(k->m->name, like->m->name))
            return k;
    }
    return NULL;
}

static bool reads_same(const probe *a, const probe *b)
{
    bool nulls =
        (a->layout < LAYOUT_1_8) != (b->layout < LAYOUT_1_8); /* is entry 0 a null entry? */
    for (size_t i = 0; i < PROBE_MARKS; i++) {
        const mark *x = &a->marks[i];
        if (!x->f) continue;
        const mark *y = find_mark(b, x);
        if (!y || !same_name(x->f->name, y->f->name)) return false;
        if (nulls && x->f->target > TABLE_STRING) return false;
    }
    return true;
}

/* ---- the verdict ---- */

typedef struct candidates {
    probe p[LAYOUT_COUNT];
    uint32_t fits; /* bit per layout */
    bool brief;
} candidates;

static uint32_t bit(layout l) { return 1u << l; }

static layout newest(uint32_t set)
{
    layout l = LAYOUT_CURRENT;
    while (l > LAYOUT_UNKNOWN && !(set & bit(l))) l--;
    return l;
}

static bool one(uint32_t set) { return set && !(set & (set - 1)); }

static void run_all(candidates *c, uint32_t who, pass how, round r, const uint8_t *in, size_t n)
{
    c->fits = 0;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        if (!(who & bit(l))) continue;
        probe_run(&c->p[l], l, how, r, c->brief, in, n);
        if (!c->p[l].failed) c->fits |= bit(l);
    }
}

/* What must be right beside the shape. */
typedef enum demand { DEMAND_NOTHING, DEMAND_RANGES, DEMAND_FORMATS, DEMAND_COUNT } demand;

static uint32_t meets(const candidates *c, demand d)
{
    uint32_t set = 0;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        bool ok =
            (d < DEMAND_RANGES || !c->p[l].range[0]) && (d < DEMAND_FORMATS || !c->p[l].odd[0]);
        if ((c->fits & bit(l)) && ok) set |= bit(l);
    }
    return set;
}

static void list_text(uint32_t set, char *out, size_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT && at < n; l++) {
        if (!(set & bit(l))) continue;
        int k = snprintf(out + at, n - at, "%s%s", at ? ", " : "", layout_name(l));
        at += k > 0 ? (size_t)k : 0;
    }
}

/* Why the neighbour of `l` is out: the newer one, or the older one of the newest. */
static void unique_text(const candidates *c, layout_verdict *v)
{
    layout l = v->layout, other = l == LAYOUT_CURRENT ? l - 1 : l + 1;
    const probe *p = &c->p[other];
    snprintf(v->evidence, sizeof v->evidence, "only %s fits; not %s: %s", layout_name(l),
             layout_name(other),
             p->failed     ? p->why
             : p->range[0] ? p->range
                           : p->odd);
}

static void settle(const candidates *c, layout_verdict *v)
{
    uint32_t set = v->fits;
    v->layout = newest(set);
    if (one(set)) {
        v->confidence = LAYOUT_UNIQUE;
        if (!c->brief) unique_text(c, v);
        return;
    }
    char all[64];
    list_text(set, all, sizeof all);
    uint32_t differ = 0;
    for (layout l = LAYOUT_1_3; l < v->layout; l++)
        if ((set & bit(l)) && !reads_same(&c->p[v->layout], &c->p[l])) differ |= bit(l);
    if (!differ) {
        v->confidence = LAYOUT_TIE_EQUAL;
        snprintf(v->evidence, sizeof v->evidence,
                 "%s fit and mean the same for what is present; the newest is taken", all);
        return;
    }
    const probe *p = &c->p[v->layout];
    bool tie_c = v->layout == LAYOUT_1_10 && (differ & bit(LAYOUT_1_9));
    if (tie_c && (p->says_v10 || p->says_v9)) {
        v->confidence = LAYOUT_TIE_RULE;
        v->layout = p->says_v10 ? LAYOUT_1_10 : LAYOUT_1_9;
        snprintf(v->evidence, sizeof v->evidence, "%s fit; %s", all,
                 p->says_v10 ? "a Sample has other counts in fields 2 and 5: 2 are attributes, 1.10"
                             : "a Sample with field 2 alone, a 0 or a number twice in it: 2 are "
                               "values, 1.9");
        return;
    }
    if (!tie_c && v->layout >= LAYOUT_1_9 && !(differ & ~bit(LAYOUT_1_8))) {
        v->confidence = LAYOUT_TIE_RULE;
        snprintf(v->evidence, sizeof v->evidence,
                 "%s fit; Profile field 7 has 16 bytes: a profile_id rather than comments, 1.9 or "
                 "newer",
                 all);
        return;
    }
    v->confidence = LAYOUT_AMBIGUOUS;
    snprintf(v->evidence, sizeof v->evidence,
             "%s fit and would decode differently; the newest is taken, name the layout if that is "
             "wrong",
             all);
}

static void none(const candidates *c, layout_verdict *v)
{
    v->confidence = LAYOUT_NONE;
    v->layout = LAYOUT_CURRENT;
    for (layout l = LAYOUT_CURRENT - 1; l >= LAYOUT_1_3; l--)
        if (c->p[l].known > c->p[v->layout].known) v->layout = l;
    const probe *p = &c->p[v->layout];
    snprintf(v->evidence, sizeof v->evidence, "no layout fits; %s fits longest",
             layout_name(v->layout));
    snprintf(v->against, sizeof v->against, "%s (byte %" PRIu64 "%s%s)", p->why, p->at,
             p->where[0] ? ", at " : "", p->where);
}

static const uint32_t everybody = (1u << LAYOUT_COUNT) - 2;

static bool any_cut(const candidates *c)
{
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        if ((c->fits & bit(l)) && c->p[l].cut) return true;
    return false;
}

/* Looks closer until one is left, nobody is, or everything was seen. */
static bool try_pass(candidates *c, pass how, demand d, const uint8_t *in, size_t n,
                     layout_verdict *v)
{
    uint32_t who = everybody;
    if (c->brief && how == PASS_STRICT) {
        piece profile = first_profile(in, n);
        for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
            if (!profile_fits(l, profile)) who &= ~bit(l);
    }
    for (round r = GLANCE; r < ROUND_COUNT && who; r++) {
        run_all(c, who, how, r, in, n);
        who = meets(c, d);
        /* Nothing is mistaken for the current layout at a glance; an old one may still be. */
        if (who == bit(LAYOUT_CURRENT) || !any_cut(c)) break;
        if (r > GLANCE && (one(who) || (newest(who) == LAYOUT_1_10 && c->p[LAYOUT_1_10].says_v10)))
            break;
    }
    v->fits = who;
    if (!who) return false;
    settle(c, v);
    size_t at = strlen(v->evidence);
    if (how == PASS_UNKNOWN)
        snprintf(v->evidence + at, sizeof v->evidence - at, "; unknown fields skipped, first %s",
                 c->p[v->layout].newer);
    return true;
}

static void detect(const void *in, size_t n, bool brief, layout_verdict *v)
{
    static const uint8_t nothing[1];
    const uint8_t *p = in && n ? in : nothing;
    candidates c; /* run_all sets what it runs */
    c.fits = 0, c.brief = brief;
    for (demand d = DEMAND_COUNT; d-- > DEMAND_NOTHING;)
        for (pass how = PASS_STRICT; how < PASS_COUNT; how++) {
            *v = (layout_verdict){0};
            if (try_pass(&c, how, d, p, n, v)) return;
        }
    run_all(&c, everybody, PASS_LOOSE, LOOK, p, n); /* who fits longest needs more than a glance */
    none(&c, v);
}

void layout_detect(const void *in, size_t n, layout_verdict *v) { detect(in, n, false, v); }
void layout_detect_brief(const void *in, size_t n, layout_verdict *v) { detect(in, n, true, v); }
