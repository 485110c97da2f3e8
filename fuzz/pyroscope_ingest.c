/* Requests of Pyroscope's senders: names, forms, labels of JFR recordings, stacks, and whole requests.
 * The first byte selects the decoder. A decoder returns a result that agrees with a simpler one, or an
 * error with an offset inside its input. The result of a request can be stored: it has a service and
 * names, and is strict OTLP. */
#include "pyroscope/ingest.h"
#include "pyroscope/ingest_query.h"
#include "pyroscope/labels_snapshot.h"
#include "pyroscope/multipart.h"
#include "pyroscope/push.h"
#include "pyroscope/stacks_read.h"
#include "pyroscope/type_id.h"
#include "wire/otlp.h"
#include "wire/pb.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { BUDGET = 64 << 20, MAX_BYTES = 1 << 20 };

static void check_error(const err *e, size_t n)
{
    MUST(e->code != ERR_OK && e->msg[0]);
    MUST(e->offset == NO_OFFSET || e->offset <= n || err_exhausted(e));
}

/* ---- names and labels ---- */

static void app_name(str text, arena *a)
{
    str app, again;
    pyro_labels l = {0}, same = {0};
    err e = {0};
    if (!pyro_app_name(text, a, &app, &l, &e)) {
        check_error(&e, text.n);
        return;
    }
    MUST(app.n && l.n <= PYRO_MAX_LABELS);
    buf b = {0};
    buf_str(&b, app);
    buf_putc(&b, '{');
    for (size_t i = 0; i < l.n; i++)
        buf_printf(&b, "%.*s=%.*s,", STR_ARG(l.v[i].name), STR_ARG(l.v[i].value));
    buf_putc(&b, '}');
    MUST(pyro_app_name(buf_view(&b), a, &again, &same, &e) && str_eq(app, again) && l.n == same.n);
    for (size_t i = 0; i < l.n; i++)
        MUST(str_eq(pyro_labels_get(&same, l.v[i].name), l.v[i].value) && l.v[i].value.n);
    buf_free(&b);
}

static void query(str text, arena *a)
{
    ingest_query q;
    err e = {0};
    if (ingest_query_parse(text, UINT64_C(1794794057000000000), a, &q, &e))
        MUST(q.app.n && q.sample_rate);
    else
        check_error(&e, text.n * 3);
}

static void snapshot(str bytes, arena *a)
{
    labels_snapshot s;
    err e = {0};
    if (!labels_snapshot_decode(bytes, a, &s, &e)) {
        check_error(&e, bytes.n);
        return;
    }
    for (size_t i = 0; i < s.contexts.n; i++) {
        MUST(labels_snapshot_find(&s, s.contexts.v[i].id) == (ptrdiff_t)i);
        MUST(s.contexts.v[i].labels.n <= PYRO_MAX_LABELS);
        for (size_t k = 0; k < s.contexts.v[i].labels.n; k++)
            MUST(s.contexts.v[i].labels.v[k].name.n && s.contexts.v[i].labels.v[k].value.n);
    }
}

/* ---- forms ---- */

#define FORM_TYPE "multipart/form-data; boundary=b1"

/* Writes the parts again, with a boundary that no part contains. */
static void form_again(const multipart *m)
{
    static const char mark[] = "a boundary of forty characters, one unit";
    buf b = {0};
    multipart same;
    err e = {0};
    for (size_t i = 0; i < m->n; i++) {
        if (memmem(m->part[i].body.p, m->part[i].body.n, mark, sizeof mark - 1)) goto end;
        buf_printf(&b, "--%s\r\nContent-Disposition: form-data; name=\"%.*s\"\r\n\r\n", mark,
                   STR_ARG(m->part[i].name));
        buf_str(&b, m->part[i].body);
        buf_z(&b, "\r\n");
    }
    buf_printf(&b, "--%s--\r\n", mark);
    buf type = {0};
    buf_printf(&type, "multipart/form-data; boundary=\"%s\"", mark);
    MUST(multipart_parse(buf_view(&type), buf_view(&b), &same, &e) && same.n == m->n);
    for (size_t i = 0; i < m->n; i++)
        MUST(str_eq(same.part[i].name, m->part[i].name) &&
             str_eq(same.part[i].body, m->part[i].body));
    buf_free(&type);
end:
    buf_free(&b);
}

static void form(str bytes)
{
    multipart m;
    err e = {0};
    if (!multipart_parse(STR(FORM_TYPE), bytes, &m, &e)) {
        check_error(&e, bytes.n);
        return;
    }
    bool plain = true; /* a name that can be written between quotes on one line */
    for (size_t i = 0; i < m.n; i++) {
        str name = m.part[i].name, body = m.part[i].body;
        MUST(name.n && name.p >= bytes.p && name.p + name.n <= bytes.p + bytes.n);
        MUST(!body.n || (body.p >= name.p && body.p + body.n <= bytes.p + bytes.n));
        for (size_t k = 0; k < name.n; k++) plain &= !strchr("\"\r\n", name.p[k]);
    }
    if (plain) form_again(&m);
}

/* ---- models ---- */

static int64_t total(const model *m, bool *saturated)
{
    int64_t sum = 0;
    for (size_t i = 0; i < m->profiles.n; i++)
        for (size_t k = 0; k < m->profiles.v[i].n_samples; k++) {
            sample s = sample_at(m, &m->profiles.v[i], k);
            sum = add_saturating(sum, sample_total(&s, saturated), saturated);
        }
    return sum;
}

/* The sum of the values of all nodes. */
static int64_t nodes_total(str bytes, bool *saturated, bool skip_first)
{
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    int64_t sum = 0;
    for (uint64_t n, value, children; c.p < c.end; skip_first = false) {
        MUST(pb_varint(&c, &n) && n <= (uint64_t)(c.end - c.p));
        c.p += n;
        MUST(pb_varint(&c, &value) && pb_varint(&c, &children));
        if (!skip_first) sum = add_saturating(sum, (int64_t)value, saturated);
    }
    return sum;
}

static void stacks(stacks_form as, str bytes, arena *a)
{
    model m;
    err e = {0};
    bool saturated = false;
    if (!stacks_read(as, bytes, STR("cpu"), STR("nanoseconds"), NULL, a, &m, &e)) {
        check_error(&e, bytes.n);
        return;
    }
    MUST(m.checked && m.profiles.n == 1);
    int64_t got = total(&m, &saturated);
    if (as == STACKS_LINES) return;
    int64_t want = nodes_total(bytes, &saturated, as == STACKS_TREE);
    MUST(saturated || got == want);
}

static bool has_key(const keyvalues *v, const char *key)
{
    for (size_t i = 0; i < v->n; i++)
        if (str_eq(v->v[i].key, str_of(key))) return true;
    return false;
}

/* Checks that the store can take the model. */
static void storable(const model *m, arena *a)
{
    if (!m->profiles.n) return;
    for (size_t i = 0; i < m->resources.n; i++)
        MUST(has_key(&m->resources.v[i].attrs, "service.name"));
    for (size_t i = 0; i < m->scopes.n; i++) MUST(has_key(&m->scopes.v[i].attrs, PYRO_NAME));
    buf b = {.limit = BUDGET};
    err e = {0};
    model again;
    MUST(otlp_encode(m, &(otlp_encode_opts){0}, &b, &e) || err_exhausted(&e));
    if (e.code == ERR_OK) {
        bool ok =
            otlp_decode(b.p, b.n, &(otlp_decode_opts){.layout = LAYOUT_CURRENT}, a, &again, &e);
        MUST(ok || err_exhausted(&e));
        MUST(!ok || again.profiles.n == m->profiles.n);
        bool saturated = false;
        MUST(!ok || total(&again, &saturated) == total(m, &saturated) || saturated);
    }
    buf_free(&b);
}

static void ingest(uint8_t how, str body, arena *a)
{
    static const char *const queries[] = {
        "name=app{a=b}&format=pprof", "name=app&format=jfr",
        "name=app.alloc_space",       "name=app&format=speedscope",
        "name=app&format=tree",       "name=app.wall&format=lines&sampleRate=7",
        "name=app&from=now-1h",       "name=app&format=trie"};
    pyro_ingested got;
    err e = {0};
    ledger l = {0};
    pyro_ingest in = {.query = str_of(queries[how % ARRAY_LEN(queries)]),
                      .content_type = how & 8 ? STR(FORM_TYPE) : STR("application/octet-stream"),
                      .body = body,
                      .now = UINT64_C(1794794057000000000),
                      .max_bytes = MAX_BYTES};
    if (pyro_ingest_read(&in, &l, a, &got, &e))
        storable(&got.model, a);
    else
        MUST(e.code != ERR_OK && e.msg[0]);
}

static void push(str message, arena *a)
{
    model m;
    err e = {0};
    ledger l = {0};
    push_request in = {
        .message = message, .now = UINT64_C(1794794057000000000), .max_bytes = MAX_BYTES};
    if (push_request_read(&in, &l, a, &m, &e))
        storable(&m, a);
    else
        MUST(e.code != ERR_OK && e.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n) return 0;
    str in = {(const char *)data + 1, n - 1};
    arena a = {.budget = BUDGET};
    switch (data[0]) {
    case 'a': app_name(in, &a); break;
    case 'q': query(in, &a); break;
    case 's': snapshot(in, &a); break;
    case 'f': form(in); break;
    case 'l': stacks(STACKS_LINES, in, &a); break;
    case 't': stacks(STACKS_TRIE, in, &a); break;
    case 'T': stacks(STACKS_TREE, in, &a); break;
    case 'p': push(in, &a); break;
    default: ingest(data[0], in, &a); break;
    }
    arena_free(&a);
    return 0;
}
