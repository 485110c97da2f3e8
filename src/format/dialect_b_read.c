/* Reads dialect B: in its container, which is layout 1.3 of OTLP, or bare like a pprof file. */
#include "format/dialect_b.h"

#include "format/pprof.h"
#include "wire/otlp.h"
#include "base/ban.h"

unsigned b_detect(str bytes)
{
    /* In its container, dialect B is the format "otlp", layout 1.3. */
    return dialect_detect_among(bytes, 1u << DIALECT_B_BARE) == DIALECT_B_BARE ? B_DETECT_MOST : 0;
}

/* Whether the bytes are a bare Profile, which has a string table. ProfilesData has only field 1. */
static bool is_bare(str bytes)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);)
        if (f.number != 1) return true;
    return false;
}

/* Whether a bare Profile has fields that pprof does not have. Otherwise it is read as pprof, so
 * that, for example, its trace_id and span_id labels become links. */
static bool has_additions(str bytes)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number >= 16 && f.number <= 18) return true;
        if (f.number != 2 || f.wire != 2) continue;
        pb_cur in = pb_message(&c, &f);
        for (pb_field s; pb_next(&in, &s);)
            if (s.number >= 7 && s.number <= 13) return true;
    }
    return false;
}

bool b_is_current(str bytes) { return dialect_fits(bytes, schema_profiles_data(LAYOUT_1_3), true); }

/* Writes the tags and lengths of the four messages that enclose a Profile of n bytes. */
static size_t put_heads(char out[64], size_t n)
{
    static const uint8_t tags[4] = {0x0a, 0x12, 0x12, 0x42};
    char head[4][12];
    size_t len[4], at = 0;
    for (size_t i = 4; i-- > 0;) {
        size_t k = 0, v = n;
        head[i][k++] = (char)tags[i];
        for (; v >= 0x80; v >>= 7) head[i][k++] = (char)(v | 0x80);
        head[i][k++] = (char)v;
        len[i] = k;
        n += k;
    }
    for (size_t i = 0; i < 4; i++) {
        memcpy(out + at, head[i], len[i]);
        at += len[i];
    }
    return at;
}

/* Converts the offset and path of an error to those in the bare Profile. */
static bool bare_error(err *e, size_t head)
{
    static const char around[] = "resource_profiles[0].scope_profiles[0].profiles[0].profile";
    size_t n = sizeof around - 1;
    if (!e) return false;
    if (e->offset != NO_OFFSET) e->offset = e->offset > head ? e->offset - head : 0;
    if (strncmp(e->path, around, n) == 0) {
        if (e->path[n] == '.') n++;
        memmove(e->path, e->path + n, strlen(e->path + n) + 1);
    }
    return false;
}

bool b_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
            layout_verdict *verdict, err *e)
{
    (void)f;
    otlp_decode_opts d = {
        .layout = LAYOUT_1_3, .lenient = o->lenient, .ledger = o->ledger, .verdict = verdict};
    if (!is_bare(bytes)) return otlp_decode(bytes.p, bytes.n, &d, a, out, e);
    if (!has_additions(bytes)) {
        pprof_read_opts p = {.lenient = o->lenient, .ledger = o->ledger};
        return pprof_decode(bytes, &p, a, out, e);
    }
    char heads[64];
    size_t head = put_heads(heads, bytes.n), n;
    char *copy = ckd_add(&n, head, bytes.n) ? NULL : arena_alloc(a, n);
    if (!copy) return arena_spent(a, e);
    memcpy(copy, heads, head);
    memcpy(copy + head, bytes.p, bytes.n);
    return otlp_decode(copy, n, &d, a, out, e) || bare_error(e, head);
}
