/* Reads the top level of a speedscope file. */
#include "format/speedscope_read.h"

#include "format/observe.h"
#include "wire/carried.h"
#include "base/ban.h"

bool speedscope_text(json *j, speedscope_reader *r, str *out)
{
    if (json_next(j) == JSON_NULL) return true;
    if (j->tok != JSON_STRING) return json_expected(j, "text");
    *out = builder_copy_str(&r->b, j->text);
    return true;
}

static bool refuse(speedscope_reader *r, size_t i, const err *why)
{
    char path[200];
    r->n_refused++;
    snprintf(path, sizeof path, "profiles[%zu]%s%s: %s", i, why->path[0] ? "." : "", why->path,
             why->msg);
    ledger_add(r->l, STAGE_READ, LOSS_PROFILE_REFUSED, NULL, path, (str){0});
    return true;
}

/* Skips invalid profiles if at least one is valid. */
static bool read_profiles(speedscope_reader *r, err *e)
{
    json j = json_open_slice(r->profiles, r->work, e);
    if (!json_expect_array(&j)) return err_in(e, "profiles");
    err first = {0};
    for (size_t i = 0; json_element(&j); i++) {
        speedscope_section p;
        err why = {0};
        json one = j;
        one.e = &why;
        bool ok = speedscope_read_section(&one, r, &p);
        if (r->b.failed || err_exhausted(&why)) return err_memory(e);
        if (ok) {
            speedscope_put_section(r, &p);
            r->n_kept++;
        } else {
            if (first.code == ERR_OK) first = why, (void)err_in(&first, "profiles[%zu]", i);
            refuse(r, i, &why);
        }
        if (!json_skip_open(&j)) return false;
    }
    if (j.bad) return false;
    if (!r->n_kept && r->n_refused && e) *e = first;
    return r->n_kept || !r->n_refused;
}

/* ---- the file ---- */

static bool top_field(json *j, speedscope_reader *r)
{
    if (json_is(j, "shared")) return json_take_slice(j, &r->shared);
    if (json_is(j, "profiles")) return json_take_slice(j, &r->profiles);
    if (json_is(j, "exporter")) return speedscope_text(j, r, &r->exporter);
    if (json_is(j, "name")) return speedscope_text(j, r, &r->name);
    if (json_is(j, "activeProfileIndex"))
        return json_next(j) == JSON_NULL || json_to_i64(j, 0, SPEEDSCOPE_MAX_PROFILES, &r->active);
    if (!json_is(j, "$schema") && !json_is(j, "version"))
        ledger_add(r->l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, "", j->text);
    return json_skip_value(j);
}

/* Makes the exporter, such as "py-spy@0.4.2", the scope. */
static void put_scope(speedscope_reader *r)
{
    keyvalue v[2];
    scope s = {.present = r->exporter.n > 0, .name = r->exporter, .attrs = {v, 0}};
    const char *at = r->exporter.n ? memrchr(r->exporter.p, '@', r->exporter.n) : NULL;
    if (at) {
        s.name.n = (size_t)(at - r->exporter.p);
        s.version = (str){at + 1, r->exporter.n - s.name.n - 1};
    }
    if (r->name.n && r->name.n <= UINT32_MAX)
        v[s.attrs.n++] = (keyvalue){
            .key = STR(KILN_ATTR_DOCUMENT_NAME),
            .value = {.kind = ANY_STRING, .n = (uint32_t)r->name.n, .s = r->name.p},
        };
    if (r->active > 0)
        v[s.attrs.n++] = (keyvalue){
            .key = STR(KILN_ATTR_ACTIVE_PROFILE),
            .value = {.kind = ANY_INT, .i = r->active},
        };
    s.present |= s.attrs.n > 0;
    builder_resource(&r->b, NULL);
    builder_scope(&r->b, &s);
}

static bool read_all(speedscope_reader *r, str bytes, err *e)
{
    json j = json_open_text(bytes, r->work, e);
    if (!json_expect_object(&j)) return false;
    while (json_key(&j))
        if (!top_field(&j, r)) return false;
    if (!json_finish(&j)) return false;
    if (!r->profiles.bytes.n) return err_set(e, ERR_MALFORMED, "the file has no profiles");
    if (r->shared.bytes.n && !speedscope_read_frames(r, e)) return false;
    put_scope(r);
    if (!read_profiles(r, e)) return false;
    ledger_add_n(r->l, STAGE_READ, LOSS_NESTING, NULL, r->n_unclosed, "profiles[].events",
                 STR("frames that are never closed"));
    ledger_add_n(r->l, STAGE_READ, LOSS_TIME, NULL, r->n_pauses, "profiles[].events",
                 STR("pauses"));
    ledger_add_n(r->l, STAGE_READ, LOSS_STACK_DEPTH, NULL, r->tree.n_cut, "profiles[]", (str){0});
    return true;
}

bool speedscope_read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                     layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    arena work = arena_beside(a);
    speedscope_reader r = {.work = &work, .o = o, .l = o->ledger, .active = -1};
    bool ok = builder_init(&r.b, a) && nest_tree_init(&r.tree, &r.b, &work);
    r.open = (nest){.t = &r.tree, .piece = speedscope_on_piece, .self = &r};
    ok = ok ? read_all(&r, bytes, e) : err_memory(e);
    ok = ok && builder_finish(&r.b, out, e);
    arena_free(&work);
    return ok;
}
