/* Writes Profiles as log records. Profiles of a scope with the same rows become one record with
 * pprof. A Profile that was read from text becomes one text record per observation. */
#include "format/splunk_write.h"

#include "base/ban.h"

static bool write_group(splunk_writer *w, buf *out)
{
    w->attrs = (__typeof__(w->attrs)){0};
    w->frames = 0;
    w->untimed = false;
    w->shape = splunk_shape_of(w);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->p[i].original_payload.n)
            splunk_write_lose(w, LOSS_ORIGINAL_PAYLOAD, 1, "profiles",
                              w->p[i].original_payload_format);
    const attribute *body = splunk_profile_attr(w, w->p, KILN_ATTR_SPLUNK_BODY);
    bool text = w->shape != SPLUNK_SHAPE_TYPED && body;
    w->native = body && body->value.kind == ANY_STRING &&
                str_eq(any_str(&body->value), STR(SPLUNK_BODY_NATIVE));
    bool ok = text ? splunk_write_text(w, out) : splunk_write_pprof(w, out);
    arena_reset(&w->a);
    return ok;
}

static bool write_scope(splunk_writer *w, const scope *s, buf *out)
{
    buf b = {0};
    scope written = *s;
    if (!str_eq(s->name, STR(SPLUNK_SCOPE))) {
        if (s->name.n || s->version.n)
            splunk_write_lose(w, LOSS_RESOURCE, 1, "scope.name", s->name);
        written.name = STR(SPLUNK_SCOPE);
        written.version = STR(SPLUNK_SCOPE_VERSION);
    }
    splunk_scope_put(&b, 1, &written);
    splunk_groups g;
    bool ok = splunk_groups_of(w, s, &g);
    w->p = g.p;
    for (uint32_t i = 0; ok && i < g.n; i++, w->p += w->n) {
        w->n = g.size[i];
        ok = write_group(w, &b);
    }
    if (s->schema_url.n) pb_put_bytes(&b, 3, s->schema_url);
    pb_put_bytes(out, 2, buf_view(&b));
    ok = ok && (!b.failed || err_memory(w->e));
    buf_free(&b);
    return ok;
}

static bool write_resource(splunk_writer *w, const resource *r, buf *out)
{
    buf b = {0};
    str language = splunk_attr_text(&r->attrs, STR("telemetry.sdk.language"));
    w->node = str_eq(language, STR("node")) || str_eq(language, STR("nodejs"));
    w->dotnet = str_eq(language, STR("dotnet"));
    splunk_resource_put(&b, 1, r);
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->n_scopes; i++)
        ok = write_scope(w, &w->m->scopes.v[r->first_scope + i], &b);
    if (r->schema_url.n) pb_put_bytes(&b, 3, r->schema_url);
    pb_put_bytes(out, 1, buf_view(&b));
    ok = ok && (!b.failed || err_memory(w->e));
    buf_free(&b);
    return ok;
}

bool splunk_write_logs(const model *m, const write_opts *o, buf *out, err *e)
{
    splunk_writer w = {.m = m, .d = &m->dict, .o = o, .e = e, .a.seed = m->seed};
    bool ok = true;
    for (size_t i = 0; ok && i < m->resources.n; i++)
        ok = write_resource(&w, &m->resources.v[i], out);
    arena_free(&w.order);
    arena_free(&w.a);
    return ok && (!out->failed || err_memory(w.e));
}
