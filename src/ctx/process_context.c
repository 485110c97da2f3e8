/* Finds, reads and decodes the process context.  The publisher may change it during the read, so
 * each attempt compares timestamps. */
#include "ctx/process_context.h"

#include "ctx/maps.h"
#include "sys/process.h"
#include "wire/otlp.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <inttypes.h>

enum { HEADER_BYTES = 32, VERSION = 2, QUICK_TRIES = 3 };

/* ---- payload ---- */

/* Converts ProcessContext {Resource resource = 1; repeated KeyValue attributes = 2} to two
 * resources of a ProfilesData, so that the existing decoder of attributes reads both. */
static bool split(str payload, buf *own, buf *extra, err *e)
{
    pb_cur c = pb_open(payload.p, payload.n, e);
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number > 2) continue; /* from a newer publisher */
        if (!pb_expect(&c, &f, 2, f.number == 1 ? "resource" : "attributes")) break;
        if (f.number == 1)
            buf_str(own, pb_bytes(&f)); /* a repeated field is merged, as protobuf requires */
        else
            pb_put_bytes(extra, 1, pb_bytes(&f));
    }
    return pb_ok(&c);
}

static void put_resource(buf *to, str attrs)
{
    buf inner = {0};
    pb_put_bytes(&inner, 1, attrs);
    pb_put_bytes(to, 1, buf_view(&inner));
    to->failed |= inner.failed;
    buf_free(&inner);
}

static bool join(str payload, arena *a, str *out, err *e)
{
    buf own = {0}, extra = {0}, whole = {0};
    bool ok = split(payload, &own, &extra, e);
    put_resource(&whole, buf_view(&own));
    put_resource(&whole, buf_view(&extra));
    bool fits = !own.failed && !extra.failed && !whole.failed;
    char *p = ok && fits ? arena_alloc(a, whole.n) : NULL;
    if (p) memcpy(p, whole.p, whole.n);
    *out = (str){p, whole.n};
    buf_free(&own);
    buf_free(&extra);
    buf_free(&whole);
    if (!ok) return false;
    return p || err_set(e, ERR_MEMORY, "not enough memory for the process context");
}

static const any *value_of(keyvalues attrs, str key)
{
    for (size_t i = 0; i < attrs.n; i++)
        if (str_eq(attrs.v[i].key, key)) return &attrs.v[i].value;
    return NULL;
}

static void take_thread_schema(process_context *out)
{
    const any *v = value_of(out->attrs, STR("threadlocal.schema_version"));
    const any *k = value_of(out->attrs, STR("threadlocal.attribute_key_map"));
    out->schema_version = v && v->kind == ANY_STRING ? any_str(v) : STR("");
    out->n_keys = 0;
    for (uint32_t i = 0; k && k->kind == ANY_ARRAY && i < k->n && i < CONTEXT_KEYS; i++)
        out->keys[out->n_keys++] = k->array[i].kind == ANY_STRING ? any_str(&k->array[i]) : STR("");
}

bool process_context_decode(str payload, arena *a, process_context *out, err *e)
{
    model m;
    str whole;
    otlp_decode_opts o = {.layout = LAYOUT_CURRENT};
    if (!join(payload, a, &whole, e)) return err_in(e, "process_context");
    if (!otlp_decode(whole.p, whole.n, &o, a, &m, e)) return err_in(e, "process_context");
    out->resource = m.resources.v[0].attrs;
    out->attrs = m.resources.v[1].attrs;
    take_thread_schema(out);
    return true;
}

/* ---- header ---- */

typedef struct header {
    char signature[8];
    uint32_t version, payload_size;
    uint64_t published_at_ns, payload;
} header;
_Static_assert(sizeof(header) == HEADER_BYTES, "the layout that the OTEP defines");

static bool is_context(const map_line *l)
{
    static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
                                        "/memfd:OTEL_CTX"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(l->name, str_of(names[i]))) return l->readable && !l->executable;
    return false;
}

static bool header_read(const memory *m, uint64_t at, header *h)
{
    return memory_read(m, at, h, sizeof *h) && !memcmp(h->signature, "OTEL_CTX", 8) &&
           h->version == VERSION;
}

typedef enum attempt { ATTEMPT_FINE, ATTEMPT_AGAIN, ATTEMPT_FAILED } attempt;

/* Reads the timestamp before and after the payload, which is valid only when both are equal. */
static attempt try_payload(const memory *m, uint64_t at, arena *a, process_context *out,
                           str *payload, err *e)
{
    header h, again;
    if (!header_read(m, at, &h) || !h.published_at_ns) return ATTEMPT_AGAIN;
    bool large = h.payload_size > CONTEXT_PAYLOAD_MAX;
    char *p = large ? NULL : arena_alloc(a, h.payload_size);
    bool copied = p && (!h.payload_size || memory_read(m, h.payload, p, h.payload_size));
    if (!header_read(m, at, &again) || again.published_at_ns != h.published_at_ns)
        return ATTEMPT_AGAIN;
    if (large)
        err_set(e, ERR_LIMIT, "the process context claims %" PRIu32 " bytes; %d are read",
                h.payload_size, CONTEXT_PAYLOAD_MAX);
    else if (!copied)
        err_set(e, ERR_MALFORMED, "the process context points to memory that cannot be read");
    out->published_at_ns = h.published_at_ns;
    out->payload_size = h.payload_size;
    *payload = (str){p, h.payload_size};
    return copied ? ATTEMPT_FINE : ATTEMPT_FAILED;
}

static bool read_at(const memory *m, uint64_t at, arena *a, process_context *out, err *e)
{
    str payload = {0};
    for (unsigned i = 0; i < CONTEXT_TRIES; i++) {
        switch (try_payload(m, at, a, out, &payload, e)) {
        case ATTEMPT_FINE: return process_context_decode(payload, a, out, e);
        case ATTEMPT_FAILED: return false;
        case ATTEMPT_AGAIN: break;
        }
        if (i >= QUICK_TRIES) process_pause_ms(1);
    }
    return err_set(e, ERR_MISMATCH,
                   "the process context was being changed during each of %d attempts",
                   CONTEXT_TRIES);
}

bool process_context_read_at(const memory *m, uint64_t address, arena *a, process_context *out,
                             err *e)
{
    *out = (process_context){.address = address, .n_mappings = 1};
    return read_at(m, address, a, out, e);
}

bool process_context_changed(const memory *m, const process_context *c)
{
    header h;
    return header_read(m, c->address, &h) && h.published_at_ns != c->published_at_ns;
}

bool process_context_read(const memory *m, str maps, arena *a, process_context *out, bool *found,
                          err *e)
{
    *found = false;
    *out = (process_context){0};
    for (map_line l; maps_next(&maps, &l);) {
        header h;
        if (!is_context(&l)) continue;
        out->n_mappings++;
        if (*found) continue; /* a process has one; uses the first */
        if (!header_read(m, l.start, &h)) {
            out->n_unreadable++;
            continue;
        }
        out->mapping = l.name;
        out->address = l.start;
        *found = true;
    }
    return !*found || read_at(m, out->address, a, out, e);
}
