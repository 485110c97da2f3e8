/* Sums by stack. Samples are first added up in an array by stack of the current dictionary, then
 * moved to the result when the dictionary changes. Most queries read only one dictionary; then
 * moving is a copy. */
#include "store/summing.h"

#include "query/cumulative.h"
#include "base/ban.h"

static bool add_row(summing *x, uint32_t class, uint32_t stack, const uint32_t *list, size_t n,
                    int64_t v)
{
    if (!hash_index_room(&x->by_row, x->keep)) return false;
    uint64_t h = hash_mix(hash_mix(x->by_row.seed, (uint64_t) class << 32 | stack), n);
    if (n) h = hash_bytes(list, n * sizeof *list, h);
    uint32_t i = hash_first(&x->by_row, h);
    for (uint32_t at; hash_next(&x->by_row, &i, h, &at); i++) {
        sum_row *r = &x->rows.v[at];
        if (r->class == class && r->stack == stack && r->n_list == n &&
            (!n || memcmp(x->lists.v + r->list_at, list, n * sizeof *list) == 0)) {
            if (r->replaced != x->classes.v[class].replaced) r->sum = 0;
            r->replaced = x->classes.v[class].replaced;
            r->sum = add_saturating(r->sum, v, NULL);
            return true;
        }
    }
    if (!vec_reserve(x->keep, &x->lists, n)) return false;
    sum_row *r = vec_push(x->keep, &x->rows);
    if (!r) return false;
    *r = (sum_row){.class = class,
                   .stack = stack,
                   .list_at = (uint32_t)x->lists.n,
                   .n_list = (uint32_t)n,
                   .replaced = x->classes.v[class].replaced,
                   .sum = v};
    if (n) memcpy(x->lists.v + x->lists.n, list, n * sizeof *list);
    x->lists.n += n;
    hash_put(&x->by_row, i, h, (uint32_t)(x->rows.n - 1));
    return true;
}

/* ---- from the current dictionary to the result ---- */

/* Adds v to the sum that the class has for a stack of the result. */
static bool add_to_class(summing *x, sum_class *c, uint32_t stack, int64_t v)
{
    while (c->by_stack.n < c->stacks.n) { /* indexes stacks that append_all added */
        if (!hash_index_room(&c->by_stack, x->keep)) return false;
        uint32_t position = c->by_stack.n;
        uint64_t h = hash_mix(c->by_stack.seed, c->stacks.v[position]);
        uint32_t i = hash_first(&c->by_stack, h);
        for (uint32_t at; hash_next(&c->by_stack, &i, h, &at); i++) continue;
        hash_put(&c->by_stack, i, h, position);
    }
    if (!hash_index_room(&c->by_stack, x->keep)) return false;
    uint64_t h = hash_mix(c->by_stack.seed, stack);
    uint32_t i = hash_first(&c->by_stack, h);
    for (uint32_t at; hash_next(&c->by_stack, &i, h, &at); i++)
        if (c->stacks.v[at] == stack) {
            c->sums.v[at] = add_saturating(c->sums.v[at], v, NULL);
            return true;
        }
    uint32_t *s = vec_push(x->a, &c->stacks);
    int64_t *sum = s ? vec_push(x->keep, &c->sums) : NULL;
    if (!sum) return false;
    *s = stack;
    *sum = v;
    hash_put(&c->by_stack, i, h, (uint32_t)(c->stacks.n - 1));
    return true;
}

/* Adds the sums of all touched stacks when neither the class nor the result has any of them: copies
 * columns without lookups. This is the usual case. */
static bool append_all(summing *x, sum_class *c)
{
    enum { AHEAD = 12 };
    const dict *from = &x->g.m->dict;
    dict *to = &x->b.m.dict;
    size_t n = x->n_touched, frames = 0;
    for (size_t i = 0; i < n; i++) frames += dict_stack(from, x->touched[i]).n;
    if (to->frames.n + frames > UINT32_MAX || !vec_reserve(x->a, &to->frames, frames) ||
        !vec_reserve(x->a, &to->stacks, n) || !vec_reserve(x->a, &c->stacks, n) ||
        !vec_reserve(x->keep, &c->sums, n))
        return false;
    const uint32_t *frame = from->frames.v, *known = x->g.location;
    /* Importing locations does not change the stacks of the result. */
    uint32_t *out = frames ? to->frames.v + to->frames.n : NULL;
    for (size_t i = 0; i < n; i++) {
        if (frames && i + AHEAD < n) {
            const uint32_t *ahead = frame + from->stacks.v[x->touched[i + AHEAD]];
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 16);
        }
        uint32_t stack = x->touched[i];
        int64_t v = x->dense[stack];
        x->dense[stack] = 0;
        if (!v) continue;
        span s = dict_stack(from, stack);
        for (uint32_t k = s.at; k < s.at + s.n; k++) {
            uint32_t l = known[frame[k]];
            *out++ = LIKELY(l) ? l - 1 : importer_location(&x->g, frame[k]);
        }
        to->frames.n += s.n;
        c->stacks.v[c->stacks.n++] = s.n ? (uint32_t)dict_n_stacks(to) : 0;
        c->sums.v[c->sums.n++] = v;
        if (s.n) to->stacks.v[to->stacks.n++] = (uint32_t)to->frames.n;
        x->g.stack[stack] = c->stacks.v[c->stacks.n - 1] + 1;
    }
    return !x->b.failed;
}

/* Returns the stack of the result that is only the leaf of a stack of the current dictionary. */
static uint32_t leaf_of(summing *x, uint32_t stack)
{
    const dict *from = &x->g.m->dict;
    span s = dict_stack(from, stack);
    if (!s.n) return 0;
    uint32_t *known = &x->leaf_stack[from->frames.v[s.at]];
    if (!*known) {
        uint32_t only = importer_location(&x->g, from->frames.v[s.at]);
        *known = builder_stack(&x->b, &only, 1) + 1;
    }
    return *known - 1;
}

/* Moves the sums by stack into the class. */
static bool settle(summing *x, err *e)
{
    if (x->class == UINT32_MAX) return true;
    sum_class *c = &x->classes.v[x->class];
    bool leaves = x->by_leaf && !c->summary.drops;
    if (x->b.unique && x->classes.n == 1 && !c->stacks.n && !c->level && !x->by_leaf) {
        if (!append_all(x, c)) return err_memory(e);
    } else {
        for (size_t i = 0; i < x->n_touched; i++) {
            uint32_t stack = x->touched[i];
            int64_t v = x->dense[stack];
            x->dense[stack] = 0;
            if (!v) continue;
            uint32_t to = leaves ? leaf_of(x, stack) : importer_stack(&x->g, stack);
            if (!add_to_class(x, c, to, v) || x->b.failed) return err_memory(e);
        }
    }
    for (size_t i = 0; i < x->n_touched; i++) x->is_touched[x->touched[i]] = false;
    x->n_touched = 0;
    x->class = UINT32_MAX;
    return true;
}

/* Prepares by_leaf and leaf_stack for a dictionary. */
static bool group_by_leaf(summing *x, const dict *d)
{
    uint32_t *first = arena_new(x->work, uint32_t, d->locations.n); /* stack + 1 */
    x->by_leaf = arena_array(x->work, x->n_dense, sizeof *x->by_leaf);
    x->leaf_stack = arena_new(x->work, uint32_t, d->locations.n);
    if (!first || !x->by_leaf || !x->leaf_stack) return false;
    for (uint32_t i = 0, empty = 0; i < x->n_dense; i++) {
        span s = dict_stack(d, i);
        uint32_t *f = s.n ? &first[d->frames.v[s.at]] : &empty;
        if (!*f) *f = i + 1;
        x->by_leaf[i] = *f - 1;
    }
    return true;
}

static bool on_dict(void *ctx, const model *m, err *e)
{
    summing *x = ctx;
    if (!m) {
        x->second = true;
        return settle(x, e);
    }
    /* Entries of a file's dictionary are unique. Those of an item (which has profiles) or of a
     * second dictionary have to be looked up. */
    if ((x->second || m->profiles.n) && !builder_index(&x->b)) return err_memory(e);
    arena_reset(x->work);
    x->cut = (cutter){.a = x->work};
    x->class = UINT32_MAX;
    x->n_dense = dict_n_stacks(&m->dict);
    x->n_touched = 0;
    x->dense = arena_new(x->work, int64_t, x->n_dense);
    x->touched = arena_array(x->work, x->n_dense, sizeof *x->touched);
    x->is_touched = arena_new(x->work, bool, x->n_dense);
    bool ok = x->dense && x->touched && x->is_touched && importer_init(&x->g, &x->b, m, x->work) &&
              (!x->leaves || group_by_leaf(x, &m->dict));
    return ok || err_memory(e);
}

/* ---- classes ---- */

/* Returns whether resource and scope are part of a class like this one. */
static bool has_envelope(const summing *x, const sum_class *like)
{
    return like->level || like->summary.alone || (x->by_series && !x->by_reading);
}

static bool same_class(const summing *x, const sum_class *c, const sum_class *like,
                       const resource *r, const scope *s)
{
    const profile *h = &c->head, *head = &like->head;
    return h->sample_type.type == head->sample_type.type &&
           h->sample_type.unit == head->sample_type.unit &&
           summary_matches(&c->summary, &like->summary) && str_eq(c->label, like->label) &&
           (!has_envelope(x, like) ||
            (h->period_type.type == head->period_type.type &&
             h->period_type.unit == head->period_type.unit && h->period == head->period &&
             resource_equal(&c->resource, r) && scope_equal(&c->scope, s)));
}

static uint64_t hash_head(const sum_class *like, uint64_t seed)
{
    const value_type *t = &like->head.sample_type;
    uint64_t h = hash_mix(seed, (uint64_t)t->type << 32 | t->unit);
    h = hash_bytes(like->label.p, like->label.n, h);
    return hash_bytes(like->summary.attrs, like->summary.n_attrs * sizeof *like->summary.attrs, h);
}

static uint64_t hash_series(summing *x, const sum_class *like, const resource *r, const scope *s,
                            uint64_t seed)
{
    const value_type *t = &like->head.period_type;
    buf_reset(&x->scratch);
    put_resource(&x->scratch, r);
    put_scope(&x->scratch, s);
    put_signed(&x->scratch, like->head.period);
    put_fixed64(&x->scratch, (uint64_t)t->type << 32 | t->unit);
    return hash_bytes(x->scratch.p, x->scratch.n, hash_head(like, seed));
}

static uint32_t add_class(summing *x, const sum_class *like, const resource *r, const scope *s)
{
    builder copy = {.a = x->keep};
    sum_class *c = vec_push(x->keep, &x->classes);
    if (!c) return UINT32_MAX;
    *c = *like;
    c->first = UINT64_MAX;
    if (has_envelope(x, like)) {
        c->resource = *builder_resource(&copy, r);
        c->scope = *builder_scope(&copy, s);
    }
    c->label = builder_copy_str(&copy, like->label);
    if (x->by_label.n && !has_envelope(x, like)) {
        any v = {.kind = ANY_STRING, .n = (uint32_t)c->label.n, .s = c->label.p};
        keyvalue only = {.key = x->by_label, .value = v};
        c->resource = *builder_resource(&copy, &(resource){.attrs = {&only, c->label.n != 0}});
    }
    if (!x->by_reading) x->k.result->n_series = x->classes.n;
    return copy.failed ? UINT32_MAX : (uint32_t)(x->classes.n - 1);
}

/* Finds or adds the class of a profile that does not belong to the current class. */
static uint32_t find_class(summing *x, const sum_class *like, const resource *r, const scope *s)
{
    if (like->summary.alone) return add_class(x, like, r, s); /* never added to others: no lookup */
    if (!hash_index_room(&x->by_class, x->keep)) return UINT32_MAX;
    uint64_t seed = x->by_class.seed,
             h = has_envelope(x, like) ? hash_series(x, like, r, s, seed) : hash_head(like, seed);
    if (x->scratch.failed) return UINT32_MAX;
    uint32_t i = hash_first(&x->by_class, h);
    for (uint32_t at; hash_next(&x->by_class, &i, h, &at); i++) {
        x->k.result->n_compared++;
        if (same_class(x, &x->classes.v[at], like, r, s)) return at;
    }
    uint32_t class = add_class(x, like, r, s);
    if (class != UINT32_MAX) hash_put(&x->by_class, i, h, class);
    return class;
}

/* Counts series by their hashes when classes are not series. Profiles of a series are adjacent. */
static bool count_series(summing *x, const sum_class *like, const resource *r, const scope *s)
{
    if (like->summary.alone) return x->k.result->n_series++, true;
    if (!hash_index_room(&x->by_series_hash, x->keep)) return false;
    uint64_t h = hash_series(x, like, r, s, x->by_series_hash.seed);
    uint32_t i = hash_first(&x->by_series_hash, h), at;
    for (; hash_next(&x->by_series_hash, &i, h, &at); i++)
        if (x->series_hashes.v[at] == h) return true;
    uint64_t *slot = vec_push(x->keep, &x->series_hashes);
    if (!slot || x->scratch.failed) return false;
    *slot = h;
    hash_put(&x->by_series_hash, i, h, (uint32_t)(x->series_hashes.n - 1));
    x->k.result->n_series++;
    return true;
}

static bool same_head(const profile *a, const profile *b)
{
    return a->scope == b->scope && a->period == b->period && a->attrs.at == b->attrs.at &&
           a->attrs.n == b->attrs.n &&
           !memcmp(&a->sample_type, &b->sample_type, sizeof(value_type)) &&
           !memcmp(&a->period_type, &b->period_type, sizeof(value_type));
}

/* Sets the label of a class; a view of x->label or of the resource. */
static bool label_profile(summing *x, sum_class *like, const resource *r, const scope *s)
{
    any made;
    const any *v = envelope_label(r, s, x->by_label, &made);
    like->label = v ? label_text(v, &x->label) : (str){0};
    return !x->label.failed;
}

static uint32_t class_of(summing *x, const model *m, const profile *p)
{
    const scope *s = &m->scopes.v[p->scope];
    const resource *r = &m->resources.v[s->resource];
    sum_class like = {.head = {.period = p->period, .has_sample_type = p->has_sample_type}};
    like.head.sample_type = (value_type){importer_string(&x->g, p->sample_type.type),
                                         importer_string(&x->g, p->sample_type.unit)};
    like.head.period_type = (value_type){importer_string(&x->g, p->period_type.type),
                                         importer_string(&x->g, p->period_type.unit)};
    like.level = profile_is_level(m, p);
    if (x->by_label.n && !label_profile(x, &like, r, s)) return UINT32_MAX;
    if (x->by_series && p->attrs.n) summary_attrs(&like.summary, &x->g, p);
    bool again = x->counted && !like.summary.alone && same_head(x->counted, p);
    if (x->by_reading && !again && !count_series(x, &like, r, s)) return UINT32_MAX;
    x->counted = p;
    if (x->class != UINT32_MAX && same_class(x, &x->classes.v[x->class], &like, r, s))
        return x->class;
    return find_class(x, &like, r, s);
}

/* ---- samples ---- */

static inline void add_dense(summing *x, uint32_t stack, int64_t v)
{
    int64_t *sum = &x->dense[stack];
    if (!*sum && !x->is_touched[stack]) {
        x->is_touched[stack] = true;
        x->touched[x->n_touched++] = stack;
    }
    if (UNLIKELY(ckd_add(sum, *sum, v))) *sum = v < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns the stack under which a stack is added up: another one with its leaf, or itself. */
static inline uint32_t stack_of(const uint32_t *by_leaf, uint32_t stack)
{
    return by_leaf ? by_leaf[stack] : stack;
}

/* Adds all samples of a profile. Requires only the columns of stacks and values. */
static void add_all(summing *x, const uint32_t *by_leaf, const model *m, const profile *p)
{
    bool one = !p->value_span.off && p->value_span.stride == 1;
    const int64_t *v = m->values.v;
    for (size_t i = 0; one && i < p->n_samples; i++)
        add_dense(x, stack_of(by_leaf, p->stack[i]), v[p->value_span.base + i]);
    for (size_t i = 0; !one && i < p->n_samples; i++) {
        span values = spans_at(&p->value_span, i), times = spans_at(&p->time_span, i);
        uint32_t stack = stack_of(by_leaf, p->stack[i]);
        for (uint32_t k = 0; k < values.n; k++) add_dense(x, stack, v[values.at + k]);
        if (!values.n) add_dense(x, stack, times.n);
    }
    x->k.n_found += p->n_samples;
}

static bool add_attributed(summing *x, uint32_t class, const sample *s)
{
    uint32_t stack = importer_stack(&x->g, s->stack);
    return importer_attrs(&x->g, s->attrs, s->n_attrs) &&
           add_row(x, class, stack, x->g.scratch.v, s->n_attrs, sample_total(s, NULL));
}

/* Removes the sums of the current class. */
static void forget(summing *x, sum_class *c)
{
    for (size_t i = 0; i < x->n_touched; i++) x->dense[x->touched[i]] = 0;
    if (c->by_stack.slot)
        memset(c->by_stack.slot, 0, ((size_t)c->by_stack.mask + 1) * sizeof *c->by_stack.slot);
    c->stacks.n = c->sums.n = c->by_stack.n = 0;
    c->replaced++;
    c->first = UINT64_MAX, c->last = 0;
    summary_reset(&c->summary);
}

/* Adds the time that a profile covers within the range. A profile without a time counts with its
 * arrival. */
static void cover(sum_class *c, const store_selector *q, const chosen *y, const profile *p)
{
    uint64_t from = y->moment, to;
    if (ckd_add(&to, from, p->duration_nano)) to = UINT64_MAX;
    if (from < q->start) from = q->start;
    if (q->end && to >= q->end) to = q->end - 1;
    if (from < c->first) c->first = from;
    if (to > c->last) c->last = to;
}

/* Returns whether a level's profile is the newest so far and in the range. If so, it replaces the
 * others. */
static bool takes_place(summing *x, sum_class *c, const chosen *y, const profile *p)
{
    uint64_t end;
    if (!y->covered && !filter_has_time(&x->k.f, y->moment)) return false;
    if (ckd_add(&end, y->moment, p->duration_nano)) end = UINT64_MAX;
    if (end < c->newest) return false;
    if (end > c->newest) forget(x, c);
    c->newest = end;
    return true;
}

static bool sum_profile(summing *x, const chunk *c, size_t i, err *e)
{
    const model *m = c->m;
    const profile *p = &m->profiles.v[i];
    chosen y;
    bool yes;
    if (!choose_profile(&x->k, c, i, &y, &yes, e)) return false;
    /* a level may have no samples */
    if (!yes || (!p->n_samples && !profile_is_level(m, p))) return true;
    uint32_t class = class_of(x, m, p);
    if (class == UINT32_MAX) return err_memory(e);
    if (class != x->class && !settle(x, e)) return false;
    x->class = class;
    if (x->classes.v[class].level && !takes_place(x, &x->classes.v[class], &y, p)) return true;
    x->k.result->n_profiles++;
    cover(&x->classes.v[class], &x->k.f.q, &y, p);
    summary *t = x->by_series && !x->leaves ? &x->classes.v[class].summary : NULL;
    if (t) summary_time(t, &x->k.f.q, p);
    if (!p->n_samples) { /* a level of zero */
        bool *selected = &x->classes.v[class].selected;
        if (!*selected && !choose_empty(&x->k, &y, selected, e)) return false;
    }
    const uint32_t *by_leaf = x->classes.v[class].summary.drops ? NULL : x->by_leaf;
    if (y.covered && !y.open && !y.links && !x->by_attributes) {
        x->classes.v[class].selected = true;
        add_all(x, by_leaf, m, p);
        if (t) summary_profile(t, m, p);
        return true;
    }
    for (size_t j = 0; j < p->n_samples; j++) {
        sample s = sample_at(m, p, j);
        if (!choose_sample(&x->k, &y, &x->cut, m, &s, &yes, e)) return false;
        if (!yes) continue;
        x->k.n_found++;
        x->classes.v[class].selected = true;
        if (t) summary_sample(t, &s);
        if (!x->by_attributes)
            add_dense(x, stack_of(by_leaf, s.stack), sample_total(&s, NULL));
        else if (!add_attributed(x, class, &s))
            return err_memory(e);
    }
    return true;
}

static bool on_chunk(void *ctx, const chunk *c, err *e)
{
    summing *x = ctx;
    x->counted = NULL;
    for (size_t i = 0; i < c->m->profiles.n; i++)
        if (!sum_profile(x, c, i, e)) return false;
    return true;
}

bool result_sums(reader *r, const store_selector *q, const store_read_opts *o, arena *a, model *out,
                 store_read_result *result, err *e)
{
    summing x = {.r = r,
                 .a = a,
                 .class = UINT32_MAX,
                 .by_series = o && o->by_series,
                 .by_reading = o && o->by_series && o->by_reading,
                 .by_attributes = o && o->by_attributes,
                 .by_label = o && o->by_series && o->by_reading ? o->by_label : (str){0},
                 .leaves = o && o->leaves && o->by_series && o->by_reading && !o->by_attributes};
    x.work = &r->work;
    x.keep = &r->keep;
    x.work->seed = x.keep->seed = a->seed;
    arena_reset(x.keep);
    if (!scan_open(&x.k, q, o ? &o->budget : NULL, result, r->world, e)) return false;
    x.k.a = a;
    x.k.ctx = &x;
    x.k.dict = on_dict;
    x.k.chunk = on_chunk;
    x.k.columns = BLOCK_STACKS | BLOCK_VALUES | (x.by_attributes ? BLOCK_ATTRS | BLOCK_TIMES : 0);
    bool ok = builder_init(&x.b, a) || err_memory(e);
    x.b.unique = true;
    ok = ok && reader_begin(r, e) && reader_scan(r, &x.k, e);
    reader_end(r);
    ok = ok && summing_put(&x, e) && reader_name(r, o && o->names, &x.b, e) &&
         builder_finish(&x.b, out, e) && (x.by_attributes || summing_put_columns(&x, out, e)) &&
         cumulative_keep_newest(out, a, e);
    scan_close(&x.k, r->world);
    buf_free(&x.scratch);
    buf_free(&x.label);
    return ok;
}
