/* Decodes a block: columns to a model. A read decodes only the columns that it needs; columns of
 * other kinds are skipped without decompression. All numbers are checked against the tables. */
#include "store/block.h"

#include "base/ban.h"

typedef struct loader {
    taker in;
    const tables *t;
    const block_series *s;
    zipper *z;
    arena *a;
    block *b;
    size_t n_profiles, n_samples, n_values, n_times, n_links;
    uint64_t first;
    uint32_t *samples; /* by profile */
} loader;

static int64_t *wide(loader *l, size_t n)
{
    int64_t *v = arena_array(l->a, n + 1, sizeof *v);
    return v && take_column(&l->in, v, n, l->z) ? v : NULL;
}

static int64_t *steps(loader *l, size_t n, uint64_t from)
{
    int64_t *v = wide(l, n);
    for (size_t i = 0; v && i < n; i++) v[i] = (int64_t)(from += (uint64_t)v[i]);
    return v;
}

static uint32_t *numbers(loader *l, size_t n, size_t limit)
{
    uint32_t *v = arena_array(l->a, n + 1, sizeof *v);
    return v && take_column_u32(&l->in, v, n, limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit,
                                l->z)
               ? v
               : NULL;
}

/* Converts the counts of a list column, one for each sample, to spans. Their sum must be
 * `total`. */
static bool counted(loader *l, size_t total, bool wanted, spans *out)
{
    int64_t constant;
    *out = (spans){0};
    if (take_constant(&l->in, &constant)) {
        if (l->n_samples && (constant < 0 || (uint64_t)constant > UINT32_MAX ||
                             (uint64_t)constant * l->n_samples != total))
            return false;
        if (wanted) out->stride = (uint32_t)constant;
        return l->n_samples || !total;
    }
    if (!wanted) {
        skip_column(&l->in);
        return !l->in.bad;
    }
    uint32_t *n = numbers(l, l->n_samples, UINT32_MAX),
             *off = arena_array(l->a, l->n_samples + 1, sizeof *off);
    if (!n || !off) return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < l->n_samples; sum += n[i++]) off[i] = (uint32_t)sum;
    off[l->n_samples] = (uint32_t)sum;
    out->off = off;
    return sum == total && sum <= UINT32_MAX;
}

/* Returns the spans from sample `at` on, the first sample of a profile. */
static spans from_sample(spans all, size_t at)
{
    if (all.off) return (spans){.off = all.off + at};
    return (spans){.base = (uint32_t)at * all.stride, .stride = all.stride};
}

static bool take_profiles(loader *l)
{
    size_t n = l->n_profiles, n_strings = l->t->m.dict.strings.n;
    block *b = l->b;
    b->m.profiles.v = arena_new(l->a, profile, n);
    b->m.profiles.n = b->m.profiles.cap = n;
    b->facts = arena_new(l->a, profile_facts, n);
    l->samples = numbers(l, n, UINT32_MAX);
    int64_t *time = l->samples ? steps(l, n, l->first) : NULL, *duration = time ? wide(l, n) : NULL;
    uint32_t *known = duration ? numbers(l, n, 2) : NULL,
             *dropped = known ? numbers(l, n, UINT32_MAX) : NULL,
             *attrs = dropped ? numbers(l, n, l->t->lists.n) : NULL,
             *format = attrs ? numbers(l, n, n_strings) : NULL;
    b->payload = format ? (uint64_t *)wide(l, n) : NULL;
    if (!b->payload || !b->m.profiles.v || !b->facts) return false;
    uint64_t all = 0;
    const profile head = series_head_profile(&l->s->head);
    for (size_t i = 0; i < n; all += l->samples[i++]) {
        profile *p = &b->m.profiles.v[i];
        *p = head;
        p->n_samples = l->samples[i];
        p->time_unix_nano = (uint64_t)time[i];
        p->duration_nano = (uint64_t)duration[i];
        p->dropped_attributes_count = dropped[i];
        p->attrs = l->t->lists.v[attrs[i]];
        p->original_payload_format = l->t->m.dict.strings.v[format[i]];
        p->profile_id[0] = (uint8_t)known[i]; /* the id is decoded later */
    }
    return all == l->n_samples;
}

static bool take_facts(loader *l, bool wanted)
{
    size_t n = l->n_profiles, n_strings = l->t->m.dict.strings.n;
    profile_facts *f = l->b->facts;
    const str *text = l->t->m.dict.strings.v;
    int64_t *seq = steps(l, n, 0), *received = seq ? steps(l, n, l->first) : NULL;
    if (!received) return false;
    for (size_t i = 0; i < n; i++) {
        f[i].seq = (uint64_t)seq[i];
        f[i].received = (uint64_t)received[i];
    }
    if (!wanted) {
        for (int i = 0; i < 4; i++) skip_column(&l->in);
        return !l->in.bad;
    }
    uint32_t *sender = numbers(l, n, n_strings),
             *recognised = sender ? numbers(l, n, n_strings) : NULL,
             *ledger = recognised ? numbers(l, n, n_strings) : NULL;
    int64_t *n_bytes = ledger ? wide(l, n) : NULL;
    for (size_t i = 0; n_bytes && i < n; i++) {
        f[i].sender = text[sender[i]];
        f[i].recognised = text[recognised[i]];
        f[i].ledger = text[ledger[i]];
        f[i].n_bytes = (uint64_t)n_bytes[i];
    }
    return n_bytes != NULL;
}

static bool take_ids(loader *l)
{
    str ids = take_bytes(&l->in, l->n_profiles * sizeof(content_key));
    for (size_t i = 0; !l->in.bad && i < l->n_profiles; i++) {
        profile *p = &l->b->m.profiles.v[i];
        bool known = p->profile_id[0];
        memset(p->profile_id, 0, 16);
        memcpy(known ? (void *)p->profile_id : (void *)&l->b->facts[i].key, ids.p + i * 16, 16);
    }
    return !l->in.bad;
}

/* Converts stack numbers of the series to numbers of the file. */
static uint32_t *resolve_stacks(loader *l)
{
    uint32_t *v = numbers(l, l->n_samples, l->s->stacks.n + 1);
    uint64_t n_far = take_varint(&l->in), k = 0;
    if (!v || l->in.bad || n_far > l->n_samples) return NULL;
    uint32_t *far = numbers(l, (size_t)n_far, dict_n_stacks(&l->t->m.dict));
    if (!far) return NULL;
    const uint32_t *near = l->s->stacks.v;
    for (size_t i = 0; i < l->n_samples; i++) {
        if (v[i])
            v[i] = near[v[i] - 1];
        else if (k < n_far)
            v[i] = far[k++];
        else
            return NULL;
    }
    return v;
}

static bool take_stacks(loader *l, bool wanted)
{
    uint32_t *v;
    if (wanted) {
        v = resolve_stacks(l);
    } else {
        skip_column(&l->in);
        (void)take_varint(&l->in);
        skip_column(&l->in);
        v = arena_new(l->a, uint32_t, l->n_samples);
    }
    size_t at = 0;
    for (size_t i = 0; v && i < l->n_profiles; at += l->samples[i++])
        l->b->m.profiles.v[i].stack = v + at;
    return v != NULL;
}

static bool take_attrs(loader *l, bool wanted)
{
    if (!wanted) {
        skip_column(&l->in);
        return !l->in.bad;
    }
    model *m = &l->b->m;
    uint32_t *list = numbers(l, l->n_samples, l->s->lists.n),
             *off = arena_array(l->a, l->n_samples + 1, sizeof *off);
    if (!list || !off) return false;
    uint64_t all = 0;
    for (size_t i = 0; i < l->n_samples; i++) {
        list[i] = l->s->lists.v[list[i]];
        off[i] = (uint32_t)all;
        all += l->t->lists.v[list[i]].n;
    }
    off[l->n_samples] = (uint32_t)all;
    if (all > UINT32_MAX || !vec_reserve(l->a, &m->sample_attrs, all)) return false;
    for (size_t i = 0; i < l->n_samples; i++) {
        span s = l->t->lists.v[list[i]];
        if (s.n)
            memcpy(m->sample_attrs.v + off[i], l->t->m.dict.attr_refs.v + s.at,
                   s.n * sizeof(uint32_t));
    }
    m->sample_attrs.n = (size_t)all;
    size_t at = 0;
    for (size_t i = 0; i < l->n_profiles; at += l->samples[i++])
        m->profiles.v[i].attr_span = (spans){.off = off + at};
    return true;
}

static bool take_link_table(loader *l, bool wanted, str ids)
{
    dict *d = &l->b->m.dict;
    if (!wanted) return true;
    d->links.v = arena_new(l->a, link_ids, l->n_links + 1);
    d->links.n = d->links.cap = l->n_links + 1;
    if (d->links.v && ids.n) memcpy(d->links.v + 1, ids.p, ids.n);
    return d->links.v != NULL;
}

static bool take_links(loader *l, bool wanted)
{
    taker before = l->in;
    int64_t constant;
    bool none = take_constant(&l->in, &constant) && constant == 0;
    uint32_t *code = NULL;
    if (!none) l->in = before;
    if (!none && wanted)
        code = numbers(l, l->n_samples, l->n_links + 2);
    else if (!none)
        skip_column(&l->in);
    str ids = take_bytes(&l->in, l->n_links * sizeof(link_ids));
    if (l->in.bad || (!none && wanted && !code) || !take_link_table(l, wanted, ids)) return false;
    if (!code) return true;
    uint32_t newest = 0;
    for (size_t i = 0; i < l->n_samples; i++) {
        if (code[i] > 1 && code[i] - 2 >= newest) return false;
        if (code[i] == 1 && newest++ == l->n_links) return false;
        code[i] = !code[i] ? 0 : code[i] == 1 ? newest : newest - (code[i] - 2);
    }
    size_t at = 0;
    for (size_t i = 0; i < l->n_profiles; at += l->samples[i++])
        l->b->m.profiles.v[i].link = code + at;
    return true;
}

static bool take_values(loader *l, bool wanted)
{
    model *m = &l->b->m;
    spans all;
    if (!counted(l, l->n_values, wanted, &all)) return false;
    if (!wanted) {
        skip_column(&l->in);
        return !l->in.bad;
    }
    m->values.v = wide(l, l->n_values);
    m->values.n = m->values.cap = l->n_values;
    size_t at = 0;
    for (size_t i = 0; i < l->n_profiles; at += l->samples[i++])
        m->profiles.v[i].value_span = from_sample(all, at);
    return m->values.v != NULL;
}

/* The number of timestamps is needed even when only values are read: a sample without values counts
 * its timestamps. */
static bool take_times(loader *l, bool wanted, bool counts)
{
    model *m = &l->b->m;
    spans all;
    if (!counted(l, l->n_times, wanted || counts, &all)) return false;
    size_t at = 0;
    for (size_t i = 0; i < l->n_profiles; at += l->samples[i++])
        m->profiles.v[i].time_span = from_sample(all, at);
    if (!wanted) {
        skip_column(&l->in);
        return !l->in.bad;
    }
    m->times.v = (uint64_t *)steps(l, l->n_times, l->first);
    m->times.n = m->times.cap = l->n_times;
    return m->times.v != NULL;
}

static bool take_envelope(loader *l)
{
    model *m = &l->b->m;
    resource *r = vec_push(l->a, &m->resources);
    scope *s = vec_push(l->a, &m->scopes);
    if (!r || !s) return false;
    *r = l->s->resource;
    *s = l->s->scope;
    r->first_scope = 0;
    r->n_scopes = 1;
    s->resource = s->first_profile = 0;
    s->n_profiles = (uint32_t)l->n_profiles;
    return true;
}

static bool take_head(loader *l)
{
    uint64_t n[5];
    for (size_t i = 0; i < 5; i++) {
        n[i] = take_varint(&l->in);
        if (n[i] > UINT32_MAX / 2) return false;
    }
    l->n_profiles = (size_t)n[0];
    l->n_samples = (size_t)n[1];
    l->n_values = (size_t)n[2];
    l->n_times = (size_t)n[3];
    l->n_links = (size_t)n[4];
    l->first = take_fixed64(&l->in);
    return !l->in.bad;
}

bool block_take(str data, const tables *t, const block_series *s, unsigned columns, zipper *z,
                arena *a, block *out)
{
    *out = (block){.m = {.dict = t->m.dict, .checked = true, .seed = t->m.seed}};
    loader l = {.in = taker_of(data), .t = t, .s = s, .z = z, .a = a, .b = out};
    bool ok = take_head(&l) && take_envelope(&l) && take_profiles(&l) &&
              take_facts(&l, columns & BLOCK_FACTS) && take_ids(&l) &&
              take_stacks(&l, columns & BLOCK_STACKS) && take_attrs(&l, columns & BLOCK_ATTRS) &&
              take_links(&l, columns & BLOCK_LINKS) && take_values(&l, columns & BLOCK_VALUES) &&
              take_times(&l, columns & BLOCK_TIMES, columns & BLOCK_VALUES) &&
              taker_left(&l.in) == 0;
    out->c = (chunk){.m = &out->m, .facts = out->facts, .first = l.first};
    return ok;
}

bool block_take_keys(str data, str type, str unit, zipper *z, arena *a, content_key **out,
                     size_t *n)
{
    loader l = {.in = taker_of(data), .z = z, .a = a};
    uint64_t n_profiles = take_varint(&l.in);
    for (int i = 0; i < 4; i++) (void)take_varint(&l.in);
    (void)take_fixed64(&l.in);
    if (l.in.bad || n_profiles > data.n / sizeof **out) return false;
    *n = (size_t)n_profiles;
    for (int i = 0; i < 3; i++) skip_column(&l.in); /* samples, time, duration */
    uint32_t *known = numbers(&l, *n, 2);
    for (int i = 0; i < 10; i++) skip_column(&l.in); /* dropped attributes to bytes on the wire */
    str ids = take_bytes(&l.in, n_profiles * sizeof **out);
    *out = arena_array(a, *n, sizeof **out);
    if (!known || l.in.bad || !*out) return false;
    for (size_t i = 0; i < *n; i++) {
        uint8_t id[16];
        memcpy(id, ids.p + i * sizeof id, sizeof id);
        memcpy(&(*out)[i], id, sizeof id);
        if (known[i]) (*out)[i] = content_key_of(type, unit, id);
    }
    return true;
}
