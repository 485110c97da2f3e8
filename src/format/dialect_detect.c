/* Detects the drafts by a strict parse with the schema of each (docs/spec/layouts.md, "Drafts").
 * The outermost fields are checked first, so that current OTLP is rejected without a parse. */
#include "format/dialects.h"

#include "base/utf8.h"
#include "wire/pb.h"
#include "base/ban.h"

enum {
    PEEK_FIELDS = 64,      /* fields of a sample that are checked */
    PEEK_RESOURCES = 256,  /* resources that are searched for the first profile */
    SHAPE_BYTES = 4 << 20, /* limit of the parse; the reader checks the rest */
    TEXT_LOOK = 512,       /* bytes that distinguish text from a message */
    SHAPE_DEPTH = 200,     /* nested messages: values nest 64 deep, each in three messages */
};

typedef struct shape {
    size_t left;             /* bytes that may still be walked */
    bool cut;                /* the limit was reached: sizes of tables are not known */
    bool ranges;             /* check indices */
    uint64_t n[TABLE_COUNT]; /* entries of the tables of the current Profile */
    uint64_t need[TABLE_COUNT];
} shape;

static bool fits(shape *s, const message_desc *m, pb_cur c, unsigned depth);

static void use_index(shape *s, const field_desc *f, uint64_t v)
{
    if (!f->target) return;
    uint64_t need = v == UINT64_MAX ? v : v + 1;
    if (need > s->need[f->target]) s->need[f->target] = need;
}

static bool fits_number(shape *s, const field_desc *f, uint64_t v)
{
    use_index(s, f, v);
    if (f->type == FT_UINT32) return v <= UINT32_MAX;
    return f->type != FT_BOOL || v <= 1;
}

static bool fits_packed(shape *s, const field_desc *f, pb_cur c)
{
    if (field_wire_type(f) == 1) return (size_t)(c.end - c.p) % 8 == 0;
    while (c.p < c.end) {
        uint64_t v;
        if (!pb_varint(&c, &v) || !fits_number(s, f, v)) return false;
    }
    return true;
}

static bool fits_bytes(shape *s, const field_desc *f, str b)
{
    if (f->type == FT_STRING && !utf8_ok(b.p, b.n)) return false;
    if (f->fills == TABLE_STRING && s->n[TABLE_STRING] == 0 && b.n) return false; /* [0] is "" */
    return !(f->flags & FF_ID) || b.n == 0 || b.n == field_id_size(f);
}

static bool fits_field(shape *s, const field_desc *f, pb_cur *c, const pb_field *r, unsigned depth)
{
    bool packed = field_packable(f) && r->wire == 2;
    if (!packed && r->wire != field_wire_type(f)) return false;
    bool ok;
    if (f->type == FT_MESSAGE)
        ok = fits(s, f->message, pb_message(c, r), depth + 1);
    else if (packed)
        ok = fits_packed(s, f, pb_message(c, r));
    else
        ok = r->wire == 2 ? fits_bytes(s, f, pb_bytes(r)) : fits_number(s, f, r->value);
    if (f->fills && f->type >= FT_STRING) s->n[f->fills]++;
    return ok;
}

static bool fits_fields(shape *s, const message_desc *m, pb_cur c, unsigned depth)
{
    uint64_t once = 0; /* singular fields seen so far */
    for (pb_field r; pb_next(&c, &r);) {
        const field_desc *f = message_field(m, r.number);
        if (!f) return false;
        if (!(f->flags & (FF_REPEATED | FF_ONEOF)) && r.number < 64) {
            if (once >> r.number & 1) return false;
            once |= UINT64_C(1) << r.number;
        }
        size_t cost = f->type == FT_MESSAGE ? 2 : (size_t)(c.p - r.at);
        if (s->cut || s->left < cost) {
            s->cut = true;
            return true;
        }
        s->left -= cost;
        if (!fits_field(s, f, &c, &r, depth)) return false;
    }
    return pb_ok(&c);
}

static bool in_range(const shape *s)
{
    if (!s->ranges || s->cut) return true;
    /* Index 0 of a missing table means "not set". */
    for (unsigned t = 1; t < TABLE_COUNT; t++)
        if (s->need[t] > (s->n[t] ? s->n[t] : 1)) return false;
    return true;
}

/* Whether a message fits its schema. The tables of all these dialects are inside the Profile. */
static bool fits(shape *s, const message_desc *m, pb_cur c, unsigned depth)
{
    if (depth == SHAPE_DEPTH) return false;
    if (!str_ends(str_of(m->name), STR("Profile"))) return fits_fields(s, m, c, depth);
    memset(s->n, 0, sizeof s->n);
    memset(s->need, 0, sizeof s->need);
    return fits_fields(s, m, c, depth) && in_range(s);
}

bool dialect_fits(str bytes, const message_desc *root, bool ranges)
{
    shape s = {.left = SHAPE_BYTES, .ranges = ranges};
    return fits(&s, root, pb_open(bytes.p, bytes.n, NULL), 0);
}

bool dialect_fits_any(str bytes, unsigned among)
{
    for (dialect d = DIALECT_A; d < DIALECT_COUNT; d++)
        if ((among >> d & 1) && dialect_fits(bytes, dialect_schema(d), true)) return true;
    return false;
}

/* ---- check of the outermost fields ---- */

/* Finds the first length-delimited field `number`. */
static bool first_of(str in, uint32_t number, str *out)
{
    pb_cur c = pb_open(in.p, in.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == number && f.wire == 2) return *out = pb_bytes(&f), true;
    return false;
}

/* Finds the first profile of any scope of the first resource that has one. */
static bool first_profile(str bytes, str *out)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    unsigned n = 0;
    for (pb_field r; n < PEEK_RESOURCES && pb_next(&c, &r); n++) {
        if (r.number != 1 || r.wire != 2) return false; /* a dictionary or table: released OTLP */
        pb_cur rp = pb_message(&c, &r);
        for (pb_field s; pb_next(&rp, &s);)
            if (s.number == 2 && s.wire == 2 && first_of(pb_bytes(&s), 2, out)) return true;
    }
    return false;
}

enum { PROFILE_ID_BYTES = 16 };

/* Whether a profile entry may be a draft. v1.8 and later have a fixed64 in field 3 and none in 2.
 * So do drafts that start at time 0, but their field 1 is an id of 16 bytes, where v1.8 has a short
 * ValueType. All released layouts except B have their samples in field 2, possibly a million of
 * them; drafts have field 2 at most once. */
static bool may_be_draft(str entry)
{
    pb_cur c = pb_open(entry.p, entry.n, NULL);
    uint64_t lists = 0, fixed = 0;
    bool bench = false, id = false;
    for (pb_field f; pb_next(&c, &f);) {
        id |= f.number == 1 && f.wire == 2 && f.value == PROFILE_ID_BYTES;
        if (f.number == 2 && f.wire == 2 && (lists >> 2 & 1)) return false;
        if (f.wire == 2 && f.number < 64) lists |= UINT64_C(1) << f.number;
        if (f.wire == 1 && f.number < 64) fixed |= UINT64_C(1) << f.number;
        bench |= f.number > 100 && f.number < 106;
    }
    bool v8 = (fixed >> 3 & 1) && !(fixed >> 2 & 1) && !id;
    if (!pb_ok(&c) || v8) return false;
    return bench || (lists & (UINT64_C(0x7f) << 8)) || (fixed & (UINT64_C(3) << 13)) ||
           (fixed >> 16 & 1) || (lists & (UINT64_C(0x1f) << 3));
}

static bool released_layout_fits(str bytes)
{
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++)
        if (dialect_fits(bytes, schema_profiles_data(l), false)) return true;
    return false;
}

/* ---- malformed input: the nearest dialect ---- */

typedef struct misfit {
    size_t left; /* bytes that may still be walked */
    uint64_t n;  /* misplaced fields so far */
    uint64_t enough;
} misfit;

/* Counts fields that are not in the schema or have another wire type. A truncated message counts as
 * one such field. */
static void count_misfits(misfit *x, const message_desc *m, pb_cur c, unsigned depth)
{
    if (depth == SHAPE_DEPTH) return;
    for (pb_field r; x->left && x->n < x->enough && pb_next(&c, &r);) {
        const field_desc *f = message_field(m, r.number);
        bool packed = f && field_packable(f) && r.wire == 2;
        x->left -= x->left < 2 ? x->left : 2;
        if (!f || (!packed && r.wire != field_wire_type(f)))
            x->n++;
        else if (f->type == FT_MESSAGE)
            count_misfits(x, f->message, pb_message(&c, &r), depth + 1);
        else if (r.wire == 2)
            x->left -= x->left < r.value ? x->left : (size_t)r.value;
    }
    x->n += !pb_ok(&c);
}

static uint64_t misfits(str bytes, const message_desc *root, uint64_t enough)
{
    misfit x = {.left = SHAPE_BYTES, .enough = enough};
    count_misfits(&x, root, pb_open(bytes.p, bytes.n, NULL), 0);
    return x.n;
}

/* Returns the dialect with the fewest misplaced fields, if fewer than *least; updates *least. */
static dialect nearest(str bytes, unsigned among, uint64_t *least)
{
    dialect best = DIALECT_NONE;
    for (dialect d = DIALECT_A; d < DIALECT_COUNT; d++) {
        uint64_t n = among >> d & 1 ? misfits(bytes, dialect_schema(d), *least) : UINT64_MAX;
        if (n < *least) *least = n, best = d;
    }
    return best;
}

dialect dialect_nearest(str bytes, unsigned among)
{
    uint64_t least = UINT64_MAX;
    return nearest(bytes, among, &least);
}

/* Whether the message has only resource_profiles; the last one may be truncated. */
static bool is_enveloped(str bytes)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number != 1 || f.wire != 2) return false;
    return bytes.n && bytes.p[0] == 0x0a;
}

bool dialect_is_broken(str bytes, unsigned among, bool hint)
{
    uint64_t least = hint ? UINT64_MAX : 1;
    if (text_like(bytes.p, bytes.n < TEXT_LOOK ? bytes.n : TEXT_LOOK)) return false;
    if (!is_enveloped(bytes) || !nearest(bytes, among, &least)) return false;
    for (layout l = LAYOUT_1_3; l < LAYOUT_COUNT; l++) {
        uint64_t n = misfits(bytes, schema_profiles_data(l), least + 1);
        if (n < least || (n == least && (!hint || !n))) return false;
    }
    return true;
}

static dialect detect_enveloped(str bytes, unsigned among)
{
    static const dialect order[] = {DIALECT_A,     DIALECT_A1,    DIALECT_A2,     DIALECT_A0,
                                    DIALECT_BENCH, DIALECT_C_BOX, DIALECT_C_SCOPE};
    str entry;
    if (!first_profile(bytes, &entry) || !may_be_draft(entry)) return DIALECT_NONE;
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if ((among >> order[i] & 1) && dialect_fits(bytes, dialect_schema(order[i]), true))
            return released_layout_fits(bytes) ? DIALECT_NONE : order[i];
    return DIALECT_NONE;
}

/* Detects a bare Profile of the event proposal, or of pprofextended with additions. */
static dialect detect_bare(str bytes, unsigned among)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    uint64_t seen = 0;
    bool empty_first = false, added = false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number > 18) return DIALECT_NONE;
        /* C has no samples: a pprof file with a million samples is rejected at the first */
        if (f.number == 2 && !(among >> DIALECT_B_BARE & 1)) return DIALECT_NONE;
        if (f.number == 11 && !(seen >> 11 & 1)) empty_first = f.wire == 2 && f.value == 0;
        seen |= UINT64_C(1) << f.number;
        added |= f.number >= 16;
        if (f.number != 2 || f.wire != 2 || added) continue;
        pb_cur inner = pb_message(&c, &f);
        unsigned n = 0;
        for (pb_field s; n < PEEK_FIELDS && pb_next(&inner, &s); n++)
            added |= s.number >= 7 && s.number <= 13;
    }
    if (!pb_ok(&c)) return DIALECT_NONE;
    bool tables = (seen >> 3 & 1) || (seen >> 11 & 1); /* event types, strings */
    bool c_like = !(seen >> 2 & 1) && tables && ((seen >> 11 & 1) == empty_first);
    if ((among >> DIALECT_C & 1) && c_like && dialect_fits(bytes, dialect_schema(DIALECT_C), true))
        return DIALECT_C;
    if ((among >> DIALECT_B_BARE & 1) && added && (seen >> 6 & 1) &&
        dialect_fits(bytes, dialect_schema(DIALECT_B_BARE), true))
        return DIALECT_B_BARE;
    return DIALECT_NONE;
}

dialect dialect_detect_among(str bytes, unsigned among)
{
    if (!bytes.n) return DIALECT_NONE;
    dialect d = among & ~DIALECTS_BARE ? detect_enveloped(bytes, among) : DIALECT_NONE;
    return d || !(among & DIALECTS_BARE) ? d : detect_bare(bytes, among);
}

dialect dialect_detect(str bytes) { return dialect_detect_among(bytes, ~0u); }

unsigned dialect_a0_member(str bytes)
{
    str entry;
    if (!first_profile(bytes, &entry)) return 0;
    unsigned member = 0;
    pb_cur c = pb_open(entry.p, entry.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number >= A0_NORMALIZED && f.number <= A0_DENORMALIZED) member = f.number;
        if (f.number >= BENCH_NORMALIZED && f.number <= BENCH_NORMALIZED + 2)
            member = f.number - BENCH_NORMALIZED + A0_NORMALIZED;
    }
    return member;
}
