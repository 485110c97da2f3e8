/* ProfileTypes, LabelNames, LabelValues, Series and /pyroscope/label-values: what the store contains,
 * in Pyroscope's names. */
#include "server/pyroscope_select.h"

#include "pyroscope/label.h"
#include "server/pyroscope_methods.h"
#include "wire/json.h"
#include "wire/pb.h"
#include "base/ban.h"
#include <stdlib.h>

typedef VEC(str) texts;

static bool push(query *k, texts *to, str s, err *e)
{
    str *v = vec_push(k->a, to);
    if (!v) return err_memory(e);
    *v = s;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Sorts the texts and removes duplicates. */
static void sort_texts(texts *t)
{
    size_t n = 0;
    if (t->n) qsort(t->v, t->n, sizeof *t->v, by_text);
    for (size_t i = 0; i < t->n; i++)
        if (!n || !str_eq(t->v[n - 1], t->v[i])) t->v[n++] = t->v[i];
    t->n = n;
}

static void put_texts(buf *b, uint32_t number, const texts *t)
{
    for (size_t i = 0; i < t->n; i++) pb_put_bytes(b, number, t->v[i]);
}

/* Clients that only test the connection send a range without profiles, or none. */
static bool has_range(const pyro_request *r) { return r->start && r->end; }

/* ---- ProfileTypes ---- */

static bool types_of(pyro_selection *s, texts *ids, err *e)
{
    for (size_t i = 0; i < s->series.n; i++) {
        str id;
        if (!pyro_type_format(&s->series.v[i].type, s->k->a, &id, e) || !push(s->k, ids, id, e))
            return false;
    }
    sort_texts(ids);
    return true;
}

static bool put_type(query *k, str id, err *e)
{
    pyro_type t;
    buf b = {0};
    if (!pyro_type_parse(id, &t, e)) return false;
    pb_put_bytes(&b, 1, id);
    pb_put_bytes(&b, 2, t.name);
    pb_put_bytes(&b, 4, t.type);
    pb_put_bytes(&b, 5, t.unit);
    pb_put_bytes(&b, 6, t.period_type);
    pb_put_bytes(&b, 7, t.period_unit);
    pb_put_bytes(&k->body, 1, buf_view(&b));
    bool ok = !b.failed;
    buf_free(&b);
    return ok || err_memory(e);
}

bool pyro_profile_types(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    texts ids = {0};
    if (!has_range(r)) return true;
    bool ok =
        pyro_select(k, &r->matchers, (str){0}, r->start, r->end, &s, e) && types_of(&s, &ids, e);
    for (size_t i = 0; ok && i < ids.n; i++) ok = put_type(k, ids.v[i], e);
    pyro_selection_free(&s);
    return ok;
}

/* ---- LabelNames and LabelValues ---- */

static const char *const private_keys[] = {"__delta__",       "__name__",         "__period_type__",
                                           "__period_unit__", "__profile_type__", "__type__",
                                           "__unit__"};

static bool push_key(query *k, texts *to, str key, err *e)
{
    str shown = key;
    if (pyro_label_is_internal(key)) return true;
    if (!k->call->utf8 && !pyro_label_plain(key, k->a, &shown, e)) return false;
    return push(k, to, shown, e);
}

/* Adds the keys or values of every read to *to; `key` is empty for keys. */
static bool list_labels(pyro_selection *s, str key, texts *to, err *e)
{
    query *k = s->k;
    for (size_t i = 0; i < s->reads.n; i++) {
        store_label_list l = {0};
        store_read_result scanned;
        store_budget b = query_budget(k, 2);
        if (!store_list_labels(k->store, &s->reads.v[i].q, &b, key, k->a, &l, &scanned, e))
            return false;
        query_spent(k, &scanned);
        for (size_t j = 0; j < l.n; j++)
            if (key.n ? l.v[j].text.n && !push(k, to, l.v[j].text, e)
                      : !push_key(k, to, l.v[j].text, e))
                return false;
    }
    return true;
}

static bool names_of(pyro_selection *s, texts *out, err *e)
{
    if (!s->series.n) return true;
    for (size_t i = 0; i < ARRAY_LEN(private_keys); i++)
        if (!push(s->k, out, str_of(private_keys[i]), e)) return false;
    return push(s->k, out, STR("service_name"), e) && list_labels(s, (str){0}, out, e);
}

bool pyro_get_label_names(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    texts names = {0};
    bool ok =
        pyro_select(k, &r->matchers, (str){0}, r->start, r->end, &s, e) && names_of(&s, &names, e);
    sort_texts(&names);
    if (ok) put_texts(&k->body, 1, &names);
    pyro_selection_free(&s);
    return ok;
}

static bool values_of(pyro_selection *s, str name, texts *out, err *e)
{
    str key;
    if (!pyro_key(s, name, &key, e)) return false;
    if (!pyro_key_is_private(name) && !pyro_key_is_service(name))
        return list_labels(s, key, out, e);
    for (size_t i = 0; i < s->series.n; i++) {
        str value;
        if (!pyro_series_label(s, &s->series.v[i], name, &value, e) ||
            (value.n && !push(s->k, out, value, e)))
            return false;
    }
    return true;
}

static bool label_values(query *k, str name, int64_t start, int64_t end, texts *out, err *e)
{
    pyro_selection s = {0};
    if (!name.n) return err_set(e, ERR_USAGE, "missing name of the label");
    bool ok = pyro_select(k, &k->call->r.matchers, (str){0}, start, end, &s, e) &&
              values_of(&s, name, out, e);
    sort_texts(out);
    pyro_selection_free(&s);
    return ok;
}

bool pyro_get_label_values(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    texts values = {0};
    if (!label_values(k, r->name, r->start, r->end, &values, e)) return false;
    put_texts(&k->body, 1, &values);
    return true;
}

/* ---- Series ---- */

/* Adds the keys of a series, in the client's spelling. */
static bool keys_of(pyro_selection *s, const store_series *x, texts *out, err *e)
{
    const keyvalues *lists[] = {&x->resource->attrs, &x->scope->attrs};
    for (size_t i = 0; i < ARRAY_LEN(private_keys); i++)
        if (!push(s->k, out, str_of(private_keys[i]), e)) return false;
    if (!push(s->k, out, STR("service_name"), e)) return false;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (size_t j = 0; j < lists[i]->n; j++)
            if (!push_key(s->k, out, lists[i]->v[j].key, e)) return false;
    sort_texts(out);
    return true;
}

static bool labels_of(pyro_selection *s, const pyro_series_row *x, const texts *names,
                      pyro_labels *out, err *e)
{
    pyro_labels_out b = {0};
    texts own = {0};
    bool ok = names->n || keys_of(s, x->s, &own, e);
    if (!names->n) names = &own;
    for (size_t i = 0; ok && i < names->n; i++) {
        str value = {0};
        ok = pyro_series_label(s, x, names->v[i], &value, e);
        if (ok && value.n) pyro_labels_put(&b, names->v[i], value);
    }
    return pyro_labels_end(&b, s->k, out, e) && ok;
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const pyro_labels *)a)->key, ((const pyro_labels *)b)->key);
}

static bool put_sets(pyro_selection *s, const texts *names, err *e)
{
    query *k = s->k;
    pyro_labels *v = arena_new(k->a, pyro_labels, s->series.n + 1);
    if (!v) return err_memory(e);
    for (size_t i = 0; i < s->series.n; i++)
        if (!labels_of(s, &s->series.v[i], names, &v[i], e)) return false;
    if (s->series.n) qsort(v, s->series.n, sizeof *v, by_key);
    for (size_t i = 0; i < s->series.n; i++)
        if (v[i].key.n && (!i || !str_eq(v[i].key, v[i - 1].key)))
            pb_put_bytes(&k->body, 2, v[i].pairs);
    return true;
}

bool pyro_get_series(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    texts names = {0};
    bool ok = pyro_select(k, &r->matchers, (str){0}, r->start, r->end, &s, e);
    for (size_t i = 0; ok && i < r->label_names.n; i++)
        ok = push(k, &names, r->label_names.v[i], e);
    sort_texts(&names);
    ok = ok && put_sets(&s, &names, e);
    pyro_selection_free(&s);
    return ok;
}

/* ---- /pyroscope/label-values ---- */

bool pyro_render_label_values(query *k, err *e)
{
    texts values = {0};
    str name = params_get(&k->p, "label");
    json_out o = {.b = &k->body};
    if (str_eq(name, STR("__name__"))) name = STR("__profile_type__");
    if (!label_values(k, name, 1, INT64_MAX / (int64_t)NS_PER_MS, &values, e)) return false;
    json_put_array(&o);
    for (size_t i = 0; i < values.n; i++) json_put_str(&o, values.v[i]);
    json_put_array_end(&o);
    return true;
}
