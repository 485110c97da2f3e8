/* What the store is made of: how much, since when, what waits. */
#include "server/ask.h"

#include "server/questions.h"
#include "base/ban.h"

bool api_store(ask *k, err *e)
{
    store_stats s = {0};
    if (!store_get_stats(k->store, k->a, &s, e)) return false;
    answer_node *o = &k->w.root;
    answer_u64(o, "bytes", s.bytes);
    answer_u64(o, "raw_items", s.raw_items);
    answer_u64(o, "raw_bytes", s.raw_bytes);
    answer_u64(o, "kept_items", s.kept_items);
    answer_u64(o, "series", s.n_series);
    answer_u64(o, "profiles", s.n_profiles);
    answer_u64(o, "samples", s.n_samples);
    o = answer_list(o, "files");
    answer_may_cut(o);
    for (size_t i = 0; i < s.files.n; i++) {
        const store_file *f = &s.files.v[i];
        answer_node *x = answer_object(o, NULL);
        answer_text(x, "name", f->name);
        answer_bool(x, "corrupt", f->corrupt);
        answer_u64(x, "bytes", f->bytes);
        answer_u64(x, "first", f->first);
        answer_u64(x, "last", f->last);
        answer_u64(x, "series", f->n_series);
        answer_u64(x, "profiles", f->n_profiles);
        answer_u64(x, "samples", f->n_samples);
    }
    return true;
}
