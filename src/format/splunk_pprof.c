/* Converts between the pprof of Splunk's agents and standard pprof.
 *
 * Agents omit sample types, and cpu samples have no values either (spec section 2). The Python
 * agent stores text at string 0, so a label with that key has no key on the wire (C-5). This file
 * corrects both before pprof.h reads the bytes, and omits types and values when writing. */
#include "format/splunk_internal.h"

#include "base/ban.h"

typedef struct shape {
    size_t n_strings, n_types;
    str first; /* string 0 */
} shape;

static bool scan_shape(str bytes, shape *s, err *e)
{
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 6 && f.wire == 2 && !s->n_strings++) s->first = pb_bytes(&f);
        s->n_types += f.number == 1 && f.wire == 2;
    }
    return pb_ok(&c);
}

static void copy(buf *out, const pb_cur *c, const pb_field *f)
{
    buf_put(out, f->at, (size_t)(c->p - f->at));
}

/* Writes a label; `key` replaces a key that is missing or 0 (0: no replacement). */
static bool put_label(pb_cur c, uint64_t key, buf *out)
{
    bool has = false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && f.wire == 0 && !f.value) continue;
        has |= f.number == 1;
        copy(out, &c, &f);
    }
    if (!has && key) pb_put_uint(out, 1, key);
    return pb_ok(&c);
}

static size_t count_values(const pb_field *f, const pb_cur *c)
{
    if (f->wire == 0) return 1;
    size_t n = 0;
    pb_cur in = pb_message(c, f);
    in.e = NULL;
    for (uint64_t v; in.p < in.end && pb_varint(&in, &v);) n++;
    return n;
}

/* Reads the first value, the only one that readers use of an untyped sample. */
static bool first_value(const pb_field *f, const pb_cur *c, uint64_t *v)
{
    if (f->wire == 0) return *v = f->value, true;
    pb_cur in = pb_message(c, f);
    return in.p < in.end && pb_varint(&in, v);
}

typedef struct fixing {
    size_t n_types;
    uint64_t key; /* key for labels without one; 0: do not change them */
    bool untyped; /* the message has no types: write one value, `fill` when there is none */
    uint64_t fill;
} fixing;

static bool put_sample(pb_cur c, const fixing *x, buf *label, buf *out)
{
    size_t n = 0;
    uint64_t first = x->fill;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 3 && f.wire == 2) {
            buf_reset(label);
            if (!put_label(pb_message(&c, &f), x->key, label)) return false;
            pb_put_bytes(out, 3, buf_view(label));
            continue;
        }
        if (f.number == 2 && (f.wire == 0 || f.wire == 2)) {
            if (!n && x->untyped) (void)first_value(&f, &c, &first);
            n += count_values(&f, &c);
            if (x->untyped) continue;
        }
        copy(out, &c, &f);
    }
    if (x->untyped) pb_put_uint(out, 2, first);
    for (; !x->untyped && n < x->n_types; n++) pb_put_uint(out, 2, 0);
    return pb_ok(&c);
}

static void put_type(uint64_t type, uint64_t unit, buf *out)
{
    buf b = {0};
    pb_put_uint(&b, 1, type);
    pb_put_uint(&b, 2, unit);
    pb_put_bytes(out, 1, buf_view(&b));
    buf_free(&b);
}

bool splunk_pprof_normalize(str bytes, bool allocation, buf *out, bool *typed, err *e)
{
    shape s = {0};
    buf one = {0}, label = {0};
    if (!scan_shape(bytes, &s, e)) return false;
    *typed = s.n_types != 0;
    uint64_t next = s.n_strings ? s.n_strings : 1; /* index of the next added string */
    fixing x = {.n_types = s.n_types, .untyped = !*typed, .fill = !allocation};
    if (s.first.n) x.key = next;
    uint64_t type = next + (s.first.n != 0);
    if (!*typed) put_type(type, type + 1, out);
    size_t n = 0, n_samples = 0;
    bool ok = true;
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    for (pb_field f; ok && pb_next(&c, &f);) {
        if (f.number == 6 && f.wire == 2 && !n++) {
            pb_put_bytes(out, 6, (str){0});
        } else if (f.number == 2 && f.wire == 2) {
            buf_reset(&one);
            ok = put_sample(pb_message(&c, &f), &x, &label, &one) ||
                 err_in(e, "sample[%zu]", n_samples);
            n_samples++;
            pb_put_bytes(out, 2, buf_view(&one));
        } else {
            copy(out, &c, &f);
        }
    }
    if (!s.n_strings) pb_put_bytes(out, 6, (str){0});
    if (s.first.n) pb_put_bytes(out, 6, s.first);
    if (!*typed) {
        pb_put_bytes(out, 6, allocation ? STR("alloc_space") : STR("samples"));
        pb_put_bytes(out, 6, allocation ? STR("bytes") : STR("count"));
    }
    bool lost = one.failed || label.failed || out->failed;
    buf_free(&one), buf_free(&label);
    if (lost) return err_set(e, ERR_LIMIT, "the pprof of a body exceeds %zu bytes", out->limit);
    return ok && pb_ok(&c);
}

bool splunk_pprof_bare(str bytes, bool values, buf *out, err *e)
{
    buf one = {0};
    pb_cur c = pb_open(bytes.p, bytes.n, e);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 || f.number == 14) continue;
        if (f.number != 2 || values) {
            copy(out, &c, &f);
            continue;
        }
        buf_reset(&one);
        pb_cur in = pb_message(&c, &f);
        for (pb_field g; pb_next(&in, &g);)
            if (g.number != 2) copy(&one, &in, &g);
        pb_put_bytes(out, 2, buf_view(&one));
    }
    bool lost = one.failed || out->failed;
    buf_free(&one);
    if (lost) return err_set(e, ERR_MEMORY, "out of memory for the pprof of a body");
    return pb_ok(&c);
}
