/* OTLP in protobuf: reads any layout, writes the current one or v1.9. */
#include "format/format.h"

#include "base/utf8.h"
#include "wire/otlp.h"
#include "wire/pb.h"
#include "base/ban.h"

enum { PROBED_FIELDS = 64, LAST_FIELD = 8, TEXT_LOOK = 512 };

/* The top level of every layout has only length-delimited fields 1 to 8: messages and, in v1.6,
 * strings. A damaged file counts as OTLP if its first fields match. Text does not, although a line
 * feed is the tag of field 1: tags and lengths of a profile are control characters. */
static unsigned detect(str bytes)
{
    if (text_like(bytes.p, bytes.n < TEXT_LOOK ? bytes.n : TEXT_LOOK)) return 0;
    if (framing_detect(bytes, true) == FRAMING_LENGTHS) return 80;
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    unsigned n = 0;
    for (pb_field f; n < PROBED_FIELDS && pb_next(&c, &f); n++)
        if (f.wire != 2 || f.number > LAST_FIELD) return n ? 5 : 0;
    if (pb_ok(&c)) return 60;
    bool begins = bytes.n && (bytes.p[0] == 0x0a || bytes.p[0] == 0x12);
    return n ? 30 : begins ? 10 : 0;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    otlp_decode_opts d = {
        .layout = o->layout != LAYOUT_UNKNOWN ? o->layout : f->layout,
        .lenient = o->lenient,
        .ledger = o->ledger,
        .verdict = verdict,
        .brief = o->brief,
    };
    return otlp_decode(bytes.p, bytes.n, &d, a, out, e);
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    otlp_encode_opts w = {
        .layout = f->layout, .part = o->part, .string_refs = o->string_refs, .ledger = o->ledger};
    return otlp_encode(m, &w, out, e);
}

const format format_otlp = {
    .name = "otlp",
    .original = ORIGINAL_IS_PROFILE,
    .what = "protobuf; reads layouts 1.3 to 1.11, writes 1.10",
    .suffixes = ".otlp .pb .binpb",
    .payloads = true,
    .parts = true,
    .carries = CARRIES_ALL,
    .detect = detect,
    .read = read,
    .write = write,
};

const format format_otlp_1_9 = {
    .name = "otlp-1.9",
    .original = ORIGINAL_IS_PROFILE,
    .what = "protobuf in the layout of opentelemetry-proto 1.9",
    .payloads = true,
    .parts = true,
    .carries = CARRIES_ALL,
    .layout = LAYOUT_1_9,
    .read = read,
    .write = write,
};
