/* Encodes the ProcessContext message: Resource = 1, KeyValue attributes = 2
 * (processcontext.v1development). */
#include "span/internal.h"

#include "base/utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_RESOURCE = 0x0a,  /* ProcessContext.resource */
    TAG_EXTRA = 0x12,     /* ProcessContext.attributes */
    TAG_ATTRIBUTE = 0x0a, /* Resource.attributes */
    TAG_KEY = 0x0a,       /* KeyValue.key */
    TAG_VALUE = 0x12,     /* KeyValue.value */
    TAG_STRING = 0x0a,    /* AnyValue.string_value */
    TAG_ARRAY = 0x2a,     /* AnyValue.array_value */
    TAG_ELEMENT = 0x0a,   /* ArrayValue.values */
    LENGTH_ROOM = 1 + 3,  /* tag and length of a message below 2 MiB */
};

/* ---- bytes ---- */

static void put_byte(payload *to, uint8_t b)
{
    if (to->n < PAYLOAD_MAX)
        to->p[to->n++] = b;
    else
        to->full = true;
}

static void put_length(payload *to, size_t v)
{
    for (; v >= 0x80; v >>= 7) put_byte(to, (uint8_t)(v | 0x80));
    put_byte(to, (uint8_t)v);
}

static void put_text(payload *to, uint8_t tag, const char *s, size_t n)
{
    put_byte(to, tag);
    put_length(to, n);
    if (n > PAYLOAD_MAX - to->n) {
        to->full = true;
        return;
    }
    memcpy(to->p + to->n, s, n);
    to->n += n;
}

/* Returns the size of a field with n bytes of content. */
static size_t field(size_t n)
{
    size_t length = 1;
    for (size_t v = n; v >= 0x80; v >>= 7) length++;
    return 1 + length + n;
}

static void put_pair(payload *to, uint8_t tag, const char *key, const char *value)
{
    size_t k = strlen(key), v = strlen(value);
    put_byte(to, tag);
    put_length(to, field(k) + field(field(v)));
    put_text(to, TAG_KEY, key, k);
    put_byte(to, TAG_VALUE);
    put_length(to, field(v));
    put_text(to, TAG_STRING, value, v);
}

/* ---- resource: the first value of a key is used ---- */

typedef struct resource_out {
    payload *to;
    size_t begin; /* start of the attributes */
} resource_out;

static size_t take_length(const uint8_t **p)
{
    size_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = *(*p)++;
        v |= (size_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
}

/* Returns whether put_pair has already written this key. */
static bool has(const resource_out *r, const char *key)
{
    const uint8_t *p = r->to->p + r->begin, *end = r->to->p + r->to->n;
    size_t n = strlen(key);
    while (!r->to->full && p < end) {
        p++;
        size_t size = take_length(&p);
        const uint8_t *next = p + size;
        p++;
        size_t k = take_length(&p);
        if (k == n && !memcmp(p, key, n)) return true;
        p = next;
    }
    return false;
}

static void put_once(resource_out *r, const char *key, const char *value)
{
    if (value && !has(r, key)) put_pair(r->to, TAG_ATTRIBUTE, key, value);
}

static const char *environment(const char *name) /* the specification treats empty as unset */
{
    const char *v = getenv(name);
    return v && *v && strlen(v) <= TEXT_MAX && utf8_ok(v, strlen(v)) ? v : NULL;
}

static void put_environment(resource_out *r)
{
    char key[TEXT_MAX + 1], value[TEXT_MAX + 1];
    const char *list = getenv("OTEL_RESOURCE_ATTRIBUTES");
    if (!list || !environment_valid(list)) return;
    while (environment_next(&list, key, value)) put_once(r, key, value);
}

static void put_defaults(resource_out *r, const char *instance_id)
{
    static const char prefix[] = "unknown_service:";
    char name[sizeof prefix + 255] = "unknown_service:";
    const char *program = program_invocation_short_name;
    size_t n = strnlen(program, 255);
    memcpy(name + sizeof prefix - 1, program, utf8_valid(program, n));
    put_once(r, "service.name", name);
    put_once(r, "service.instance.id", instance_id);
    put_once(r, "telemetry.sdk.name", "kiln");
    put_once(r, "telemetry.sdk.language", "c");
    put_once(r, "telemetry.sdk.version", KILN_VERSION);
}

/* Writes the length before the bytes added since `begin`. */
static void close_resource(resource_out *r)
{
    payload *to = r->to;
    size_t n = to->n - r->begin;
    const uint8_t *body = to->p + r->begin;
    if (to->full) return;
    to->n = 0;
    put_byte(to, TAG_RESOURCE);
    put_length(to, n);
    memmove(to->p + to->n, body, n);
    to->n += n;
}

/* ---- message ---- */

static bool text_fits(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n <= TEXT_MAX && utf8_ok(s, n);
}

static bool pairs_fit(const kiln_span_pair *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!v[i].key || !*v[i].key || !v[i].value) return false;
        if (!text_fits(v[i].key) || !text_fits(v[i].value)) return false;
        if (!strncmp(v[i].key, "threadlocal.", 12)) return false; /* reserved for this library */
    }
    return v || !n;
}

static bool process_fits(const kiln_span_process *p)
{
    return p->size >= sizeof *p && text_fits(p->service_name) && text_fits(p->service_version) &&
           pairs_fit(p->resource, p->n_resource) && pairs_fit(p->attributes, p->n_attributes);
}

kiln_span_code payload_make(payload *to, const kiln_span_process *process, const char *instance_id)
{
    static const kiln_span_process nothing = {.size = sizeof nothing};
    const kiln_span_process *p = process ? process : &nothing;
    if (!process_fits(p)) return KILN_SPAN_USAGE;
    resource_out r = {.to = to, .begin = LENGTH_ROOM};
    to->n = LENGTH_ROOM;
    put_once(&r, "service.name", p->service_name);
    put_once(&r, "service.version", p->service_version);
    for (size_t i = 0; i < p->n_resource; i++)
        put_once(&r, p->resource[i].key, p->resource[i].value);
    put_once(&r, "service.name", environment("OTEL_SERVICE_NAME"));
    put_environment(&r);
    put_defaults(&r, instance_id);
    close_resource(&r);
    for (size_t i = 0; i < p->n_attributes; i++)
        put_pair(to, TAG_EXTRA, p->attributes[i].key, p->attributes[i].value);
    to->n_fixed = to->n;
    return to->full ? KILN_SPAN_LIMIT : KILN_SPAN_OK;
}

static void put_key_map(payload *to)
{
    static const char key[] = "threadlocal.attribute_key_map";
    size_t n = 0, any;
    for (size_t i = 0; i < span_keys(); i++) n += field(field(strlen(span_key_name(i))));
    any = field(n);
    put_byte(to, TAG_EXTRA);
    put_length(to, field(sizeof key - 1) + field(any));
    put_text(to, TAG_KEY, key, sizeof key - 1);
    put_byte(to, TAG_VALUE);
    put_length(to, any);
    put_byte(to, TAG_ARRAY);
    put_length(to, n);
    for (size_t i = 0; i < span_keys(); i++) {
        size_t k = strlen(span_key_name(i));
        put_byte(to, TAG_ELEMENT);
        put_length(to, field(k));
        put_text(to, TAG_STRING, span_key_name(i), k);
    }
}

void payload_put_threads(payload *to)
{
    to->n = to->n_fixed;
    put_pair(to, TAG_EXTRA, "threadlocal.schema_version", "tlsdesc_v1_dev");
    put_key_map(to);
}
