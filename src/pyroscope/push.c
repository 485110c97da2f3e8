/* Decodes PushRequest: one model for each profile, then one of all. */
#include "pyroscope/push.h"

#include "base/text.h"
#include "format/format.h"
#include "model/merge.h"
#include "pyroscope/envelope.h"
#include "pyroscope/type_id.h"
#include "wire/pb.h"
#include "base/ban.h"

typedef struct reading {
    const push_request *in;
    VEC(const model *) models;
    size_t left; /* of in->max_bytes */
    ledger *l;
    arena *a;
    err *e;
} reading;

/* ---- one profile ---- */

/* "550e8400-e29b-41d4-a716-446655440000", with or without hyphens. Other texts are ignored. */
static void take_uuid(str text, uint8_t id[16])
{
    char hex[32];
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '-') continue;
        if (n == sizeof hex) return;
        hex[n++] = text.p[i];
    }
    if (!hex_bytes((str){hex, n}, id, 16)) memset(id, 0, 16);
}

static bool add_profile(reading *r, const pyro_envelope *v, str bytes)
{
    document d;
    read_opts o = {.from = &format_pprof, .max_bytes = r->left, .ledger = r->l, .brief = true};
    const model **slot = vec_push(r->a, &r->models);
    model *m = arena_new(r->a, model, 1);
    if (!slot || !m) return arena_spent(r->a, r->e);
    if (r->models.n > PUSH_MAX_PROFILES)
        return err_set(r->e, ERR_LIMIT, "more than %d profiles", PUSH_MAX_PROFILES);
    if (!format_read(bytes, &o, r->a, &d, r->e)) return err_in(r->e, "raw_profile");
    r->left -= d.bytes.n < r->left ? d.bytes.n : r->left - 1;
    *m = d.model;
    *slot = m;
    return pyro_envelope_apply(v, m, r->l, r->a, r->e);
}

static bool take_sample(reading *r, pyro_envelope *v, pb_cur c)
{
    str bytes = {0};
    memset(v->id, 0, sizeof v->id);
    v->content = (pyro_content){0};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && pb_expect(&c, &f, 2, "raw_profile")) bytes = pb_bytes(&f);
        if (f.number == 2 && pb_expect(&c, &f, 2, "ID")) take_uuid(pb_bytes(&f), v->id);
    }
    if (pb_ok(&c) && id_is_zero(v->id, sizeof v->id)) pyro_content_add(&v->content, bytes);
    return pb_ok(&c) && (!bytes.n || add_profile(r, v, bytes));
}

/* ---- series ---- */

static bool take_label(reading *r, pyro_envelope *v, pb_cur c)
{
    str name = {0}, value = {0};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number == 1 && !pb_text(&c, &f, "name", &name)) return false;
        if (f.number == 2 && !pb_text(&c, &f, "value", &value)) return false;
    }
    if (!pb_ok(&c)) return false;
    if (str_eq(name, STR(PYRO_NAME))) v->name = value;
    if (str_eq(name, STR(PYRO_SPY))) return v->spy = value, true;
    return pyro_labels_set(&v->labels, name, value, r->a, r->e);
}

/* Reads the labels first, because samples may precede them. */
static bool take_series(reading *r, pb_cur all)
{
    pyro_envelope v = {.from = r->in->now};
    size_t n = 0;
    pb_cur c = all;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) continue;
        if (!pb_expect(&c, &f, 2, "labels")) return false;
        if (!take_label(r, &v, pb_message(&c, &f))) return err_in(r->e, "labels[%zu]", n);
        n++;
    }
    if (!pb_ok(&c)) return false;
    c = all, n = 0;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 2) continue;
        if (!pb_expect(&c, &f, 2, "samples")) return false;
        if (!take_sample(r, &v, pb_message(&c, &f))) return err_in(r->e, "samples[%zu]", n);
        n++;
    }
    return pb_ok(&c);
}

bool push_request_read(const push_request *in, ledger *l, arena *a, model *out, err *e)
{
    reading r = {.in = in, .left = in->max_bytes, .l = l, .a = a, .e = e};
    pb_cur c = pb_open(in->message.p, in->message.n, e);
    size_t n = 0;
    *out = (model){0};
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number != 1) continue;
        if (!pb_expect(&c, &f, 2, "series")) return false;
        if (!take_series(&r, pb_message(&c, &f))) return err_in(e, "series[%zu]", n);
        n++;
    }
    if (!pb_ok(&c)) return false;
    if (r.models.n == 1) return *out = *r.models.v[0], true;
    return !r.models.n || model_merge(r.models.v, r.models.n, NULL, a, out, e);
}
