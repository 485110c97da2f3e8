/* Pyroscope's methods that describe the server: statistics, version, build. */
#include "server/pyroscope.h"
#include "server/pyroscope_methods.h"
#include "kiln/kiln.h"
#include "wire/pb.h"
#include "base/ban.h"

/* The version of Pyroscope's query API that clients test for. */
enum { QUERIER_API = 1 };

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
    if (!all.n) return true;
    pb_put_uint(&k->body, 1, true);
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
