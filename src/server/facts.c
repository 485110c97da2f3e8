/* Prints /metrics and /api/v1/status from the counters of all parts. Both use the X-macros that
 * define the counters, so that they list the same ones. */
#include "server/facts.h"

#include "server/api.h"
#include "server/api_source.h"
#include "server/forward.h"
#include "wire/json.h"
#include "base/ban.h"

/* ---- Prometheus ---- */

static void metric(buf *b, const char *kind, const char *room, const char *name, const char *what,
                   uint64_t v)
{
    const char *total = *kind == 'c' ? "_total" : "",
               *lines[] = {"# HELP kiln_", "# TYPE kiln_", "kiln_"}, *values[] = {what, kind, NULL};
    for (size_t i = 0; i < ARRAY_LEN(lines);
         i++) { /* buf_printf would dominate the cost of /metrics */
        buf_z(b, lines[i]), buf_z(b, room), buf_putc(b, '_'), buf_z(b, name), buf_z(b, total);
        buf_putc(b, ' ');
        if (values[i]) buf_z(b, values[i]), buf_putc(b, '\n');
    }
    buf_u64(b, v);
    buf_putc(b, '\n');
}

/* Prints the value of a label, escaped. */
static void put_label(buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"') buf_putc(b, '\\');
        buf_putc(b, *text == '\n' ? ' ' : *text);
    }
}

static void put_layouts(const facts *f, buf *b)
{
    size_t n;
    const ingest_source *v = ingest_recognised(f->ingest, &n);
    buf_z(b, "# HELP kiln_ingest_payloads_total requests by recognised format\n# TYPE "
             "kiln_ingest_payloads_total counter\n");
    for (size_t i = 0; i < n; i++) {
        buf_z(b, "kiln_ingest_payloads_total{recognised=\"");
        put_label(b, v[i].name);
        buf_z(b, "\"} ");
        buf_u64(b, v[i].requests);
        buf_putc(b, '\n');
    }
}

static void put_rejected(const facts *f, buf *b)
{
    buf_z(b, "# HELP kiln_ingest_rejected_by_reason_total profiles and log records rejected in a "
             "partial success, by reason\n# TYPE kiln_ingest_rejected_by_reason_total counter\n");
    for (size_t i = OTLP_FAULT_WIRE + 1; i < RECEIVE_REASONS;
         i++) { /* WIRE rejects the whole request */
        buf_printf(b, "kiln_ingest_rejected_by_reason_total{reason=\"%s\"} ",
                   receive_reason_name(i));
        buf_u64(b, ingest_rejected_by(f->ingest, i));
        buf_putc(b, '\n');
    }
}

static void put_forwarded(const facts *f, buf *b)
{
    if (!f->forward) return;
    otlp_counts p = forward_counted(f->forward, OTLP_PROFILES),
                l = forward_counted(f->forward, OTLP_LOGS);
#define X(name, what)                                                                              \
    metric(b, "counter", "forward_profiles", #name, what, p.name);                                 \
    metric(b, "counter", "forward_logs", #name, what, l.name);
    OTLP_COUNTERS(X)
#undef X
    forward_state now = forward_state_of(f->forward);
#define X(kind, name, what) metric(b, #kind, "forward", #name, what, now.name);
    FORWARD_STATE(X)
#undef X
}

void facts_metrics(const facts *f, buf *b)
{
    ingest_counts in = ingest_count(f->ingest);
    http_server_counts http = http_server_count(f->http);
    api_counted api_n = api_count(f->api);
    api_source_counts sources = api_source_count(f->source);
    store_counters stored = store_counted(f->store);
    stored.damaged += api_damaged(f->api);
    store_gauges now = store_gauged(f->store);
#define X(name, what) metric(b, "counter", "ingest", #name, what, in.name);
    INGEST_COUNTERS(X)
#undef X
#define X(name, what) metric(b, "counter", "http", #name, what, http.name);
    HTTP_SERVER_COUNTERS(X)
#undef X
#define X(name, what) metric(b, "counter", "api", #name, what, api_n.name);
    API_COUNTERS(X)
#undef X
#define X(name, what) metric(b, "counter", "source", #name, what, sources.name);
    SOURCE_COUNTERS(X)
#undef X
#define X(name, what) metric(b, "counter", "store", #name, what, stored.name);
    STORE_COUNTERS(X)
#undef X
#define X(name, what) metric(b, "gauge", "store", #name, what, now.name);
    STORE_GAUGES(X)
#undef X
#define X(name, what) metric(b, "gauge", "http", #name, what, http.name);
    HTTP_SERVER_PEAKS(X)
#undef X
    metric(b, "gauge", "http", "connections", "open connections", http.connections);
    metric(b, "gauge", "http", "exchanges", "requests without a response", http.exchanges);
    metric(b, "gauge", "http", "held_bytes", "bytes of requests in memory", http.held);
    metric(b, "gauge", "http", "owed_bytes",
           "bytes of responses in memory that wait for their clients", http.owed);
    metric(b, "gauge", "http", "file_bytes",
           "bytes of responses in files that wait for their clients", http.file_bytes);
    metric(b, "gauge", "pool", "waiting", "jobs that wait for a thread", pool_waiting(f->pool));
    metric(b, "gauge", "pool", "questions_waiting", "queries that wait for a thread",
           pool_waiting(f->query_pool));
    metric(b, "gauge", "server", "start_time_seconds", "Unix time when the server started",
           f->started / 1000000000);
    metric(b, "gauge", "server", "ready", "1 while the server accepts profiles", f->ready);
    put_forwarded(f, b);
    put_layouts(f, b);
    put_rejected(f, b);
}

/* ---- JSON ---- */

static void put_u64(json_out *o, str key, uint64_t v)
{
    json_put_key(o, key);
    json_put_u64(o, v);
}

static void put_sources(json_out *o, str key, const ingest_source *v, size_t n)
{
    json_put_key(o, key);
    json_put_array(o);
    for (size_t i = 0; i < n; i++) {
        json_put_object(o);
        json_put_key(o, STR("name"));
        json_put_str(o, str_of(v[i].name));
        put_u64(o, STR("requests"), v[i].requests);
        put_u64(o, STR("profiles"), v[i].profiles);
        put_u64(o, STR("samples"), v[i].samples);
        put_u64(o, STR("bytes"), v[i].bytes);
        put_u64(o, STR("refused"), v[i].refused);
        put_u64(o, STR("rejected"), v[i].rejected);
        json_put_key(o, STR("why"));
        json_put_str(o, str_of(v[i].why));
        put_u64(o, STR("first"), v[i].first);
        put_u64(o, STR("last"), v[i].last);
        json_put_object_end(o);
    }
    json_put_array_end(o);
}

static void put_forward(json_out *o, str key, const forward *f, otlp_signal s)
{
    otlp_counts n = forward_counted(f, s);
    json_put_key(o, key);
    json_put_object(o);
#define X(name, what) put_u64(o, STR(#name), n.name);
    OTLP_COUNTERS(X)
#undef X
    json_put_object_end(o);
}

static void put_losses(json_out *o, const ledger *l)
{
    json_put_key(o, STR("losses"));
    json_put_array(o);
    for (size_t i = 0; i < l->n; i++) {
        json_put_object(o);
        json_put_key(o, STR("concept"));
        json_put_str(o, str_of(loss_name(l->v[i].concept)));
        put_u64(o, STR("count"), l->v[i].count);
        json_put_key(o, STR("example"));
        json_put_str(o, str_of(l->v[i].value));
        json_put_key(o, STR("carried_as"));
        if (l->v[i].carried_as)
            json_put_str(o, str_of(l->v[i].carried_as));
        else
            json_put_null(o);
        json_put_object_end(o);
    }
    json_put_array_end(o);
}

static void put_limit(json_out *o, str key, uint64_t v)
{
    if (v != UINT64_MAX) return put_u64(o, key, v);
    json_put_key(o, key);
    json_put_null(o);
}

void facts_json(const facts *f, buf *b)
{
    ingest_counts in = ingest_count(f->ingest);
    http_server_counts http = http_server_count(f->http);
    api_counted api_n = api_count(f->api);
    api_source_counts sources = api_source_count(f->source);
    store_counters stored = store_counted(f->store);
    stored.damaged += api_damaged(f->api);
    store_gauges now = store_gauged(f->store);
    size_t n;
    json_out o = {.b = b};
    json_put_object(&o);
    put_u64(&o, STR("schema"), 1);
    json_put_key(&o, STR("version"));
    json_put_str(&o, STR(KILN_VERSION));
    json_put_key(&o, STR("ready"));
    json_put_bool(&o, f->ready);
    put_u64(&o, STR("started"), f->started);
    put_u64(&o, STR("now"), f->now);
    json_put_key(&o, STR("store_dir"));
    json_put_str(&o, str_of(f->store_dir));
    json_put_key(&o, STR("source_link"));
    json_put_str(&o, str_of(f->source_link));
    json_put_key(&o, STR("source_trim"));
    json_put_str(&o, str_of(f->source_trim));
    json_put_key(&o, STR("source_server"));
    json_put_bool(&o, api_source_active(f->source));
    put_limit(&o, STR("max_age"), f->max_age);
    put_limit(&o, STR("max_bytes"), f->max_bytes);
    json_put_key(&o, STR("ingest"));
    json_put_object(&o);
#define X(name, what) put_u64(&o, STR(#name), in.name);
    INGEST_COUNTERS(X)
#undef X
    json_put_object_end(&o);
    json_put_key(&o, STR("http"));
    json_put_object(&o);
#define X(name, what) put_u64(&o, STR(#name), http.name);
    HTTP_SERVER_COUNTERS(X)
    HTTP_SERVER_PEAKS(X)
#undef X
    put_u64(&o, STR("connections"), http.connections);
    put_u64(&o, STR("exchanges"), http.exchanges);
    put_u64(&o, STR("held_bytes"), http.held);
    put_u64(&o, STR("owed_bytes"), http.owed);
    put_u64(&o, STR("file_bytes"), http.file_bytes);
    put_u64(&o, STR("jobs_waiting"), pool_waiting(f->pool));
    put_u64(&o, STR("questions_waiting"), pool_waiting(f->query_pool));
    json_put_object_end(&o);
    json_put_key(&o, STR("api"));
    json_put_object(&o);
#define X(name, what) put_u64(&o, STR(#name), api_n.name);
    API_COUNTERS(X)
#undef X
    json_put_object_end(&o);
    json_put_key(&o, STR("source"));
    json_put_object(&o);
#define X(name, what) put_u64(&o, STR(#name), sources.name);
    SOURCE_COUNTERS(X)
#undef X
    json_put_object_end(&o);
    json_put_key(&o, STR("store"));
    json_put_object(&o);
#define X(name, what) put_u64(&o, STR(#name), stored.name);
    STORE_COUNTERS(X)
#undef X
#define X(name, what) put_u64(&o, STR(#name), now.name);
    STORE_GAUGES(X)
#undef X
    json_put_object_end(&o);
    if (f->forward) {
        json_put_key(&o, STR("forward"));
        json_put_object(&o);
        put_forward(&o, STR("profiles"), f->forward, OTLP_PROFILES);
        put_forward(&o, STR("logs"), f->forward, OTLP_LOGS);
        forward_state state = forward_state_of(f->forward);
#define X(kind, name, what) put_u64(&o, STR(#name), state.name);
        FORWARD_STATE(X)
#undef X
        json_put_object_end(&o);
    }
    const ingest_source *v = ingest_recognised(f->ingest, &n);
    put_sources(&o, STR("recognised"), v, n);
    v = ingest_senders(f->ingest, &n);
    put_sources(&o, STR("senders"), v, n);
    put_losses(&o, ingest_losses(f->ingest));
    json_put_object_end(&o);
}
