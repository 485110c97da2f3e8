/* OTLP/JSON: one document, JSON lines, or concatenated documents. */
#include "format/format.h"

#include "wire/otlp_json.h"
#include "base/ban.h"

enum { DETECT_BYTES = 64 * 1024 };

static bool contains_key(str bytes, const char *key)
{
    size_t n = bytes.n < DETECT_BYTES ? bytes.n : DETECT_BYTES;
    return memmem(bytes.p, n, key, strlen(key)) != NULL;
}

/* Returns whether the text is {}, an empty message, or ends before its first key. */
static bool is_empty(str bytes)
{
    size_t i = 0;
    while (i < bytes.n && bytes.p[i] != '"' && i < DETECT_BYTES) i++;
    return i == bytes.n;
}

/* Checks for the top-level keys of OTLP documents. */
static unsigned detect(str bytes)
{
    if (framing_detect(bytes, true) != FRAMING_JSON) return 0;
    static const char *const keys[] = {"\"resourceProfiles\"", "\"resource_profiles\"",
                                       "\"dictionary\"", "\"stringTable\""};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (contains_key(bytes, keys[i])) return 90;
    return is_empty(bytes) ? 20 : 0;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f;
    otlp_decode_opts d = {
        .layout = o->layout, .lenient = o->lenient, .ledger = o->ledger, .verdict = verdict};
    return otlp_json_decode(bytes.p, bytes.n, &d, a, out, e);
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    otlp_encode_opts w = {.string_refs = o->string_refs, .ledger = o->ledger};
    if (!otlp_json_encode(m, &w, out, e)) return false;
    buf_putc(out, '\n');
    return true;
}

const format format_otlp_json = {
    .name = "otlp-json",
    .original = ORIGINAL_IS_PROFILE,
    .what = "OTLP/JSON; one document or JSON lines",
    .suffixes = ".json .jsonl",
    .payloads = true,
    .text = true,
    .carries = CARRIES_ALL,
    .detect = detect,
    .read = read,
    .write = write,
};
