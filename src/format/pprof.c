/* The pprof formats in the table of formats: detects pprof bytes and selects the reader. */
#include "format/pprof.h"

#include "wire/pb.h"
#include "base/ban.h"

enum { PROBED_FIELDS = 64, PROBED_INSIDE = 16 };

/* Returns whether the message has only varint fields 1 to `last`. */
static bool numbers_only(pb_cur c, uint32_t last)
{
    unsigned n = 0;
    for (pb_field f; n < PROBED_INSIDE && pb_next(&c, &f); n++)
        if (f.wire != 0 || f.number > last) return false;
    return pb_ok(&c);
}

/* Returns whether the fields of a submessage match field f of a pprof Profile. OTLP has messages
 * where pprof has numbers, so one level is enough. */
static bool fits(const pb_cur *c, const pb_field *f)
{
    if (f->number >= 7) return f->number == 11 || f->number == 13 || f->wire == 0;
    if (f->wire != 2) return false;
    pb_cur in = pb_message(c, f);
    unsigned n = 0;
    switch (f->number) {
    case 1: return numbers_only(in, 3); /* field 3 is the aggregation_temporality of OTEP 0239 */
    case 3:
    case 5: return numbers_only(in, 15);
    case 2:
    case 4:
        for (pb_field g; n < PROBED_INSIDE && pb_next(&in, &g); n++)
            if (g.wire != 0 && (g.wire != 2 || g.number > (f->number == 2 ? 3u : 4u))) return false;
        return pb_ok(&in);
    default: return true;
    }
}

/* Returns the confidence. OTLP's field 1 cannot parse as a sample type that is not empty. */
static unsigned detect_proto(str bytes)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    unsigned n = 0, typed = 0, numbers = 0;
    for (pb_field f; n < PROBED_FIELDS && pb_next(&c, &f); n++) {
        if (!fits(&c, &f)) return 0;
        typed += f.number == 1 && f.value != 0;
        numbers += f.number >= 9 && f.number <= 15;
    }
    if (!n) return 0;
    if (typed) return 90; /* even if truncated */
    return !pb_ok(&c) ? 0 : numbers ? 90 : 20;
}

static unsigned detect(str bytes)
{
    if (pprof_legacy_detect(bytes) != PPROF_LEGACY_NONE) return 95;
    return detect_proto(bytes);
}

/* Returns whether the bytes may be pprof although they also fit OTLP: they have no sample type. */
static bool may_be(const format *f, str bytes)
{
    (void)f;
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    for (pb_field r; pb_next(&c, &r);)
        if (!message_field(&pprof_profile, r.number) || !fits(&c, &r)) return false;
    return pb_ok(&c);
}

static bool is_current(str bytes) { return pprof_legacy_detect(bytes) == PPROF_LEGACY_NONE; }

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    pprof_read_opts p = {.lenient = o->lenient, .ledger = o->ledger};
    pprof_legacy kind = pprof_legacy_detect(bytes);
    if (kind != PPROF_LEGACY_NONE) return pprof_legacy_decode(bytes, kind, &p, a, out, e);
    return pprof_decode(bytes, &p, a, out, e);
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    return pprof_encode(m, &(pprof_write_opts){.timestamps = o->timestamps, .ledger = o->ledger},
                        out, e);
}

const format format_pprof = {
    .name = "pprof",
    .what = "profile.proto, and the older text and binary kinds (read only)",
    .suffixes = ".pb.gz .pprof",
    .pack = CODEC_GZIP,
    .original = ORIGINAL_ADVISED_AGAINST,
    .carries = CARRIES(TYPES) | CARRIES(UNITS) | CARRIES(LINKS) | CARRIES(SAMPLE_ATTRIBUTES) |
               CARRIES(ATTRIBUTE_UNITS) | CARRIES(TIME) | CARRIES(PERIOD) | CARRIES(ADDRESSES) |
               CARRIES(MAPPINGS) | CARRIES(BUILD_IDS) | CARRIES(LINES) | CARRIES(COLUMNS) |
               CARRIES(SYSTEM_NAMES) | CARRIES(INLINES),
    .detect = detect,
    .may_be = may_be,
    .read = read,
    .is_current = is_current,
    .write = write,
};
