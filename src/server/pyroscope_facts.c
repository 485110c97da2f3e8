/* Pyroscope's methods that describe the server: statistics, version, build. */
#include "server/pyroscope_select.h"
#include "server/pyroscope_methods.h"
#include "kiln/kiln.h"
#include "wire/pb.h"
#include "base/ban.h"

/* The version of Pyroscope's query API that clients test for. */
enum { QUERIER_API = 1 };

/* Drilldown replaces its views by an introduction while a server has no data, so that a search that
 * ended early must not report that. */
bool pyro_get_profile_stats(query *k, err *e)
{
    store_series_list all = {0};
    store_budget b = query_budget(k, 2);
    uint64_t first = UINT64_MAX, last = 0;
    if (!store_list_series(k->store, &k->q, &b, k->a, &all, &k->scanned, e)) return false;
    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i].first < first) first = all.v[i].first;
        if (all.v[i].last > last) last = all.v[i].last;
    }
    if (all.n || k->scanned.partial) pb_put_uint(&k->body, 1, true);
    if (!all.n) return true;
    pb_put_uint(&k->body, 2, first / NS_PER_MS);
    pb_put_uint(&k->body, 3, last / NS_PER_MS);
    return true;
}

bool pyro_version(query *k, err *e)
{
    (void)e;
    pb_put_uint(&k->body, 1, QUERIER_API);
    return true;
}

bool pyro_nothing(query *k, err *e)
{
    (void)k;
    (void)e;
    return true;
}

bool pyro_buildinfo(query *k, err *e)
{
    (void)e;
    buf_printf(&k->body,
               "{\"status\":\"success\",\"data\":{\"version\":\"%s\",\"revision\":\"\","
               "\"branch\":\"\",\"buildUser\":\"\",\"buildDate\":\"\",\"goVersion\":\"\"}}",
               kiln_version());
    return true;
}

static void put_field(buf *b, uint32_t number, uint64_t v)
{
    if (v) pb_put_uint(b, number, v);
}

/* Counts what a query would read.  The store does not know the bytes of a selection in advance. */
bool pyro_analyze(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    pyro_selection s = {0};
    pyro_texts selector = {.v = (str[]){r->query}, .n = 1};
    uint64_t profiles = 0, samples = 0;
    buf b = {0}, impact = {0};
    bool ok = pyro_select(k, &selector, (str){0}, r->start, r->end, &s, e);
    for (size_t i = 0; ok && i < s.series.n; i++) {
        profiles += s.series.v[i].s->n_profiles;
        samples += s.series.v[i].s->n_samples;
    }
    if (ok) {
        pb_put_bytes(&b, 1, STR("Store"));
        pb_put_uint(&b, 2, 1);
        put_field(&b, 4, s.series.n);
        put_field(&b, 5, profiles);
        put_field(&b, 6, samples);
        put_field(&impact, 3, s.series.n);
        pb_put_bytes(&k->body, 1, buf_view(&b));
        pb_put_bytes(&k->body, 2, buf_view(&impact));
        ok = (!b.failed && !impact.failed) || err_memory(e);
    }
    buf_free(&b);
    buf_free(&impact);
    pyro_selection_free(&s);
    return ok;
}
