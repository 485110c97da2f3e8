/* The endpoint store: files, sizes and counts of the store. */
#include "server/query.h"

#include "server/endpoints.h"
#include "store/maintenance.h"
#include "base/ban.h"

bool api_store(query *k, err *e)
{
    store_stats s = {0};
    if (!store_get_stats(k->store, k->a, &s, e)) return false;
    response_node *o = &k->w.root;
    response_u64(o, "bytes", s.bytes);
    response_u64(o, "raw_items", s.raw_items);
    response_u64(o, "raw_bytes", s.raw_bytes);
    response_u64(o, "kept_items", s.kept_items);
    response_u64(o, "series", s.n_series);
    response_u64(o, "profiles", s.n_profiles);
    response_u64(o, "samples", s.n_samples);
    o = response_list(o, "files");
    response_may_cut(o);
    for (size_t i = 0; i < s.files.n; i++) {
        const store_file *f = &s.files.v[i];
        response_node *x = response_object(o, NULL);
        response_text(x, "name", f->name);
        response_bool(x, "corrupt", f->corrupt);
        response_u64(x, "bytes", f->bytes);
        response_u64(x, "first", f->first);
        response_u64(x, "last", f->last);
        response_u64(x, "series", f->n_series);
        response_u64(x, "profiles", f->n_profiles);
        response_u64(x, "samples", f->n_samples);
    }
    return true;
}
