/* Chooses the decoder of a body of POST /ingest and applies the envelope. Bodies of known formats go
 * through the readers of src/format. */
#include "pyroscope/ingest.h"

#include "format/format.h"
#include "pyroscope/envelope.h"
#include "pyroscope/ingest_query.h"
#include "pyroscope/multipart.h"
#include "pyroscope/sample_types.h"
#include "pyroscope/stack_type.h"
#include "pyroscope/stacks_read.h"
#include "pyroscope/subtract.h"
#include "base/time.h"
#include "wire/carried.h"
#include "base/ban.h"

typedef struct reading {
    const pyro_ingest *in;
    ingest_query q;
    pyro_envelope v;
    multipart parts;
    bool is_form;
    labels_snapshot snapshot;
    ledger *l;
    arena *a;
    pyro_ingested *out;
    err *e;
} reading;

static read_opts opts_of(const reading *r, const format *f)
{
    return (read_opts){.from = f,
                       .max_bytes = r->in->max_bytes,
                       .ledger = r->l,
                       .brief = true,
                       .anchor = {.given = r->q.from, .arrival = r->in->now}};
}

static bool read_as(reading *r, const read_opts *o, str bytes, model *out)
{
    document d;
    if (!format_read(bytes, o, r->a, &d, r->e)) return false;
    *out = d.model;
    return true;
}

static bool unpacked_body(reading *r, str *out)
{
    unpacked u;
    if (!unpack(r->in->body, r->in->max_bytes, r->a, &u, r->e)) return false;
    *out = u.bytes;
    return true;
}

/* ---- pprof ---- */

/* Returns the profile name by Pyroscope's rule for the types of a pprof; empty: by each type. */
static str pprof_name(const model *m, const sample_types *t)
{
    static const struct {
        str part, name;
    } rules[] = {{STR("cpu"), STR("process_cpu")}, {STR("alloc_"), STR("memory")},
                 {STR("inuse_"), STR("memory")},   {STR("mutex_"), STR("mutex")},
                 {STR("block_"), STR("block")},    {STR("goroutines"), STR("goroutines")}};
    for (size_t i = 0; i < m->profiles.n; i++)
        if (str_eq(dict_str(&m->dict, m->profiles.v[i].sample_type.type), STR("wall")))
            return STR("wall");
    for (size_t i = 0; i < m->profiles.n; i++) {
        str type = dict_str(&m->dict, m->profiles.v[i].sample_type.type);
        const sample_type_rule *own = sample_types_find(t, type);
        if (own && own->display_name.n) type = own->display_name;
        for (size_t k = 0; type.n && k < ARRAY_LEN(rules); k++)
            if (memmem(type.p, type.n, rules[k].part.p, rules[k].part.n)) return rules[k].name;
    }
    return (str){0};
}

static bool read_pprof(reading *r, str bytes, str before, str config)
{
    read_opts o = opts_of(r, &format_pprof);
    model now, earlier;
    sample_types t;
    if (!read_as(r, &o, bytes, &now)) return r->is_form ? err_in(r->e, "profile") : false;
    if (!sample_types_read(config, r->a, &t, r->e)) return err_in(r->e, "sample_type_config");
    r->v.name = pprof_name(&now, &t);
    if (!before.n) return r->out->model = now, true;
    if (!read_as(r, &o, before, &earlier)) return err_in(r->e, "prev_profile");
    return pyro_subtract(&now, &earlier, &t, r->l, r->a, &r->out->model, r->e);
}

static bool read_pprof_form(reading *r)
{
    str bytes = multipart_get(&r->parts, STR("profile"));
    if (!bytes.p) return err_set(r->e, ERR_MALFORMED, "the form has no part `profile`");
    if (!bytes.n) return true; /* as an empty body: nothing to store */
    return read_pprof(r, bytes, multipart_get(&r->parts, STR("prev_profile")),
                      multipart_get(&r->parts, STR("sample_type_config")));
}

/* ---- JFR ---- */

/* Gives events the names of Pyroscope, and some the types that its users expect. */
static bool name_events(reading *r, model *m)
{
    static const struct {
        str from, name, type; /* type empty: it stays */
    } events[] = {{STR("contentions"), STR("mutex"), {0}},
                  {STR("delay"), STR("mutex"), {0}},
                  {STR("parks"), STR("block"), STR("contentions")},
                  {STR("park"), STR("block"), STR("delay")},
                  {STR("live_objects"), STR("memory"), STR("live")},
                  {STR("live_bytes"), STR("memory"), {0}},
                  {STR("old_objects"), STR("memory"), {0}},
                  {STR("old_bytes"), STR("memory"), {0}}};
    bool failed = false;
    str *names = arena_new(r->a, str, m->profiles.n);
    if (!names) return arena_spent(r->a, r->e);
    for (size_t i = 0; i < m->profiles.n; i++) {
        profile *p = &m->profiles.v[i];
        str type = dict_str(&m->dict, p->sample_type.type);
        for (size_t k = 0; k < ARRAY_LEN(events); k++) {
            if (!str_eq(type, events[k].from)) continue;
            names[i] = events[k].name;
            if (events[k].type.n)
                p->sample_type.type = pyro_intern(m, events[k].type, r->a, &failed);
        }
    }
    r->v.names = names;
    return !failed || arena_spent(r->a, r->e);
}

static bool read_jfr(reading *r)
{
    read_opts o = opts_of(r, &format_jfr);
    str jfr = r->is_form ? multipart_get(&r->parts, STR("jfr")) : r->in->body;
    str labels = r->is_form ? multipart_get(&r->parts, STR("labels")) : (str){0};
    unpacked u = {.bytes = labels};
    if (!jfr.p) return err_set(r->e, ERR_MALFORMED, "the form has no part `jfr`");
    if (!read_as(r, &o, jfr, &r->out->model)) return r->is_form ? err_in(r->e, "jfr") : false;
    if (labels.n && (!unpack(labels, r->in->max_bytes, r->a, &u, r->e) ||
                     !labels_snapshot_decode(u.bytes, r->a, &r->snapshot, r->e)))
        return err_in(r->e, "labels");
    r->v.jfr = &r->snapshot;
    return name_events(r, &r->out->model);
}

/* ---- stacks and counts ---- */

/* Multiplies the counts of samples by the time between two of them. */
static void scale(reading *r, model *m, int64_t by)
{
    bool saturated = false;
    for (size_t i = 0; i < m->values.n; i++) {
        int64_t *v = &m->values.v[i], was = *v;
        if (ckd_mul(v, was, by)) *v = was < 0 ? INT64_MIN : INT64_MAX, saturated = true;
    }
    if (saturated)
        ledger_add(r->l, STAGE_READ, LOSS_VALUE_SATURATED, NULL, "samples[].values", (str){0});
}

static bool put_type(reading *r, const stack_type *t)
{
    model *m = &r->out->model;
    bool failed = false;
    int64_t period = (int64_t)(NS_PER_S / r->q.sample_rate);
    value_type type = {pyro_intern(m, t->period_type, r->a, &failed),
                       pyro_intern(m, t->period_unit, r->a, &failed)};
    if (failed) return arena_spent(r->a, r->e);
    for (size_t i = 0; i < m->profiles.n; i++) {
        m->profiles.v[i].period_type = type;
        if (t->sampled) m->profiles.v[i].period = period;
    }
    if (t->sampled) scale(r, m, period);
    return true;
}

/* Reads folded stacks. The reader also knows two forms that have no meaning here. */
static bool read_folded(reading *r, const stack_type *t)
{
    read_opts o = opts_of(r, &format_folded);
    o.sample_type = t->type, o.sample_unit = t->unit;
    if (!read_as(r, &o, r->in->body, &r->out->model)) return false;
    const dict *d = &r->out->model.dict;
    if (r->out->model.profiles.n > 1)
        return err_set(r->e, ERR_MALFORMED, "every line ends in two numbers: send one count");
    for (size_t i = 0; i < d->attributes.n; i++)
        if (str_eq(dict_str(d, d->attributes.v[i].key), STR(KILN_ATTR_VALUE_SCALE)))
            return err_set(r->e, ERR_MALFORMED, "a count is not a whole number");
    return true;
}

static bool read_stacks(reading *r, const char *form)
{
    stack_type t = stack_type_of(r->q.app, &r->v.app);
    str body;
    r->v.name = t.name;
    if (!strcmp(form, "folded")) {
        if (!read_folded(r, &t)) return false;
    } else {
        stacks_form is = !strcmp(form, "trie")   ? STACKS_TRIE
                         : !strcmp(form, "tree") ? STACKS_TREE
                                                 : STACKS_LINES;
        if (!unpacked_body(r, &body) ||
            !stacks_read(is, body, t.type, t.unit, r->l, r->a, &r->out->model, r->e))
            return false;
    }
    return put_type(r, &t);
}

static bool read_speedscope(reading *r)
{
    read_opts o = opts_of(r, &format_speedscope);
    stack_type_of(r->q.app, &r->v.app);
    return read_as(r, &o, r->in->body, &r->out->model);
}

/* ---- the request ---- */

/* Returns the form of the body. A compressed body without a format is a pprof. */
static const char *form_of(const reading *r)
{
    static const char *const forms[] = {"trie", "tree", "lines", "jfr", "pprof", "speedscope"};
    str type = r->in->content_type, named = r->q.format;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (str_eq(named, str_of(forms[i]))) return forms[i];
    if (str_starts(type, STR("binary/octet-stream+trie"))) return "trie";
    if (str_starts(type, STR("binary/octet-stream+tree"))) return "tree";
    if (r->is_form) return "pprof";
    return !named.n && codec_detect(r->in->body) == CODEC_GZIP ? "pprof" : "folded";
}

static bool read_form(reading *r, const char *form)
{
    if (!strcmp(form, "jfr")) return read_jfr(r);
    if (!strcmp(form, "speedscope")) return read_speedscope(r);
    if (strcmp(form, "pprof") != 0) return read_stacks(r, form);
    return r->is_form ? read_pprof_form(r) : read_pprof(r, r->in->body, (str){0}, (str){0});
}

/* Hashes the parts of a form without its boundaries, which differ when a client repeats it. */
static void hash_body(reading *r)
{
    pyro_content_add(&r->v.content, r->is_form ? (str){0} : r->in->body);
    for (size_t i = 0; r->is_form && i < r->parts.n; i++) {
        pyro_content_add(&r->v.content, r->parts.part[i].name);
        pyro_content_add(&r->v.content, r->parts.part[i].body);
    }
}

bool pyro_ingest_read(const pyro_ingest *in, ledger *l, arena *a, pyro_ingested *out, err *e)
{
    reading r = {.in = in, .l = l, .a = a, .out = out, .e = e};
    *out = (pyro_ingested){.form = ""};
    if (!ingest_query_parse(in->query, in->now, a, &r.q, e)) return false;
    r.v = (pyro_envelope){.app = r.q.app,
                          .spy = r.q.spy,
                          .labels = r.q.labels,
                          .from = r.q.from ? r.q.from : in->now,
                          .until = r.q.until};
    r.is_form = multipart_is(in->content_type);
    out->form = form_of(&r);
    if (!in->body.n) return true;
    if (r.is_form && !multipart_parse(in->content_type, in->body, &r.parts, e)) return false;
    hash_body(&r);
    return read_form(&r, out->form) &&
           (!out->model.profiles.n || pyro_envelope_apply(&r.v, &out->model, l, a, e));
}
