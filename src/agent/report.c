/* Writes the agent's report as JSON. */
#include "agent/report.h"

#include "sys/file.h"
#include "wire/json.h"
#include "base/ban.h"

static void put_u64(json_out *o, const char *key, uint64_t v)
{
    json_put_key(o, str_of(key));
    json_put_u64(o, v);
}

static void put_capture(json_out *o)
{
    capture_counts c = capture_count();
    json_put_key(o, STR("capture"));
    json_put_object(o);
#define X(name, what) put_u64(o, #name, c.name);
    CAPTURE_COUNTERS(X)
#undef X
    json_put_object_end(o);
}

static void put_export(json_out *o, const shipper *s)
{
    otlp_counts c = shipper_counts(s);
    json_put_key(o, STR("export"));
    json_put_object(o);
#define X(name, what) put_u64(o, #name, c.name);
    OTLP_COUNTERS(X)
#undef X
    put_u64(o, "files_written", s->files.written);
    put_u64(o, "files_failed", s->files.failed);
    put_u64(o, "flushes", s->n_flushes);
    put_u64(o, "flushes_failed", s->n_failed);
    json_put_object_end(o);
}

static void put_heap(json_out *o, const shipper *s)
{
    json_put_key(o, STR("heap"));
    if (!s->heap) return json_put_null(o);
    heap_counts c = s->heap->counts();
    json_put_object(o);
    put_u64(o, "samples", c.samples);
    put_u64(o, "stacks_lost", c.stacks_lost);
    put_u64(o, "live_lost", c.live_lost);
    put_u64(o, "interval", c.interval);
    json_put_object_end(o);
}

static void put_text(json_out *o, const char *key, str text)
{
    json_put_key(o, str_of(key));
    json_put_str(o, text);
}

void agent_report_print(const shipper *s, const agent_report *r, buf *out)
{
    json_out o = {.b = out, .pretty = true};
    json_put_object(&o);
    put_u64(&o, "schema", 1);
    put_u64(&o, "pid", s->facts.pid);
    put_text(&o, "program", s->facts.program);
    put_u64(&o, "start", r->start);
    put_u64(&o, "end", r->end);
    put_text(&o, "cpu_source", str_of(capture_source()));
    put_capture(&o);
    put_export(&o, s);
    put_heap(&o, s);
    put_u64(&o, "own_cpu_ns", capture_own_cpu());
    put_u64(&o, "own_peak_kb", s->peak / 1024);
    json_put_key(&o, STR("symbolize"));
    json_put_object(&o);
    put_u64(&o, "locations", s->n_locations);
    put_u64(&o, "found", s->n_found);
    json_put_object_end(&o);
    json_put_key(&o, STR("advice"));
    json_put_array(&o);
    for (size_t i = 0; i < r->n_advice; i++) json_put_str(&o, str_of(r->advice[i]));
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(out, '\n');
}

bool agent_report_write(const shipper *s, const agent_report *r, err *e)
{
    buf name = {0}, text = {0};
    bool ok = files_name(s->c->report, s->facts.pid, s->report_number, &name) ||
              err_set(e, ERR_USAGE, "KILN_REPORT is not a valid file name");
    agent_report_print(s, r, &text);
    ok = ok && !text.failed && file_write(name.p, buf_view(&text), e);
    buf_free(&name), buf_free(&text);
    return ok;
}
