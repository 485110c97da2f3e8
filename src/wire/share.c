/* Counts the bytes of a message by field (share.h), in one walk by the schema tables. */
#include "wire/share.h"

#include "wire/pb.h"
#include "wire/schema.h"
#include "base/ban.h"

enum {
    MAX_NESTING = 8
}; /* nested messages: ProfilesData, resource, scope, container, profile, sample */

static share *find(shares *s, const char *name, const char *within)
{
    for (size_t i = 0; i < s->n; i++) {
        share *x = &s->v[i];
        bool same = !strcmp(x->name, name) && !x->within == !within &&
                    (!within || !strcmp(x->within, within));
        if (same) return x;
    }
    if (s->n == SHARES_MAX) return &s->v[SHARES_MAX - 1];
    s->v[s->n] = (share){.name = name, .within = within};
    return &s->v[s->n++];
}

static void count(shares *s, const char *name, const char *within, uint64_t bytes, uint64_t n)
{
    share *x = find(s, name, within);
    x->bytes += bytes;
    x->count += n;
}

static bool is_samples(const field_desc *f)
{
    return !strcmp(f->name, "samples") || !strcmp(f->name, "sample");
}

static bool sample(shares *s, const message_desc *m, const field_desc *owner, pb_cur c)
{
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *d = message_field(m, f.number);
        count(s, d ? d->name : "unknown", owner->name, (uint64_t)(c.p - f.at), 1);
    }
    return pb_ok(&c);
}

static bool message(shares *s, const message_desc *m, pb_cur c, int depth)
{
    for (pb_field f; pb_next(&c, &f);) {
        const field_desc *d = message_field(m, f.number);
        uint64_t bytes = (uint64_t)(c.p - f.at);
        bool inside = d && d->type == FT_MESSAGE && f.wire == 2 && depth < MAX_NESTING;
        if (inside && is_samples(d)) {
            count(s, d->name, NULL, bytes, 1);
            if (!sample(s, d->message, d, pb_message(&c, &f))) return false;
        } else if (inside && (d->flags & FF_LARGE)) {
            count(s, "", NULL, bytes - f.value, 1);
            if (!message(s, d->message, pb_message(&c, &f), depth + 1)) return false;
        } else {
            count(s, d ? d->name : "unknown", NULL, bytes, 1);
        }
    }
    return pb_ok(&c);
}

bool shares_add(shares *s, str bytes, layout l, err *e)
{
    const message_desc *m = schema_profiles_data(l);
    if (!m) return err_set(e, ERR_USAGE, "no such layout");
    s->bytes += bytes.n;
    return message(s, m, pb_open(bytes.p, bytes.n, e), 0);
}

static int by_size(const void *a, const void *b)
{
    const share *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

void shares_sort(shares *s) { qsort(s->v, s->n, sizeof s->v[0], by_size); }
