/* Builds views: folds the samples of each selected profile by stack, applies the filters, and
 * adds tags as frames. Locations are evaluated once per model (places.c), so rows only look up
 * results. */
#include "query/select.h"

#include "query/internal.h"
#include "query/observed.h"
#include "query/path.h"
#include "query/summed.h"

#include "base/ban.h"

enum { ROOMY = 64 * 1024 }; /* up to this depth, an upper bound is enough */
#define VIEW_MAX_FRAMES                                                                            \
    (UINT64_C(1) << 31) /* most frames of all rows; inlined calls multiply the depth of stacks */

/* Sums the observations in the time range. Returns false when there are none. */
static bool in_window(const sample *s, const select_opts *o, int64_t *value, bool *saturated)
{
    bool any_in = false, paired = s->n_values == s->n_times;
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n_times; i++) {
        if (s->times[i] < o->start || (o->end && s->times[i] >= o->end)) continue;
        any_in = true;
        if (paired) sum = add_clamped(sum, s->values[i], saturated);
        if (!s->n_values) sum = add_clamped(sum, 1, saturated);
    }
    *value = paired || !s->n_values ? sum : sample_total(s, saturated);
    return any_in;
}

static int64_t weighted(int64_t v, double weight, bool *saturated)
{
    double x = (double)v * weight;
    if (x >= 9.2e18 || x <= -9.2e18) return *saturated = true, x < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* ---- rows ---- */

typedef struct tag_place {
    str value;
    uint32_t key, place;
} tag_place;

typedef struct tag_row {
    uint32_t stack, tags;
} tag_row;

typedef struct rows {
    view *v;
    const model *m;
    const profile *p;
    const select_opts *o;
    double weight;
    sample_filter filter;
    places places;
    frame_path begins_with, ends_with;
    uint32_t *scratch; /* frames of a row */
    size_t room;       /* frames that fit into it */
    bool new_places;   /* the patterns differ from those of the previous profile */
    uint32_t *row_of;  /* by stack: row + 1 */
    /* tags as frames */
    tag_texts texts;
    str keys[32]; /* leaf tags, then root tags, both innermost first */
    size_t n_leaves, n_keys;
    hash_index by_tag, by_row;
    VEC(tag_place) tags;
    VEC(uint32_t) pool;  /* places of rows that have tags */
    VEC(tag_row) keyed;  /* by row: its stack and tags */
    VEC(uint32_t) lists; /* lists of tags: n_keys places each */
    hash_index by_list;
} rows;

static view_row *new_row(rows *x, uint32_t i, err *e)
{
    view_row *r = vec_push(x->v->a, &x->v->rows);
    if (!r || x->v->rows.n > UINT32_MAX) {
        err_memory(e);
        return NULL;
    }
    r->sample = i;
    return r;
}

/* Index 0 is valid even if the table is empty: it means "none". */
static span stack_of(const dict *d, uint32_t stack)
{
    return stack < dict_n_stacks(d) ? dict_stack(d, stack) : (span){0};
}

static view_row *row_of_stack(rows *x, const sample *s, uint32_t i, err *e)
{
    uint32_t *slot = &x->row_of[s->stack];
    if (*slot && !x->o->by_sample) return &x->v->rows.v[*slot - 1];
    view_row *r = new_row(x, i, e);
    if (!r) return NULL;
    span st = stack_of(&x->m->dict, s->stack);
    r->at = st.at;
    r->n = st.n;
    *slot = (uint32_t)x->v->rows.n;
    return r;
}

/* ---- rows with tags ---- */

static bool split_keys(str text, str *keys, size_t room, size_t *n, err *e)
{
    size_t begin = *n;
    for (size_t at = 0; at < text.n;) {
        const char *comma = memchr(text.p + at, ',', text.n - at);
        size_t len = comma ? (size_t)(comma - text.p) - at : text.n - at;
        if (len && *n == room) return err_set(e, ERR_USAGE, "more than %zu keys of tags", room);
        if (len) keys[(*n)++] = (str){text.p + at, len};
        at += len + 1;
    }
    for (size_t i = begin, k = *n; i + 1 < k; i++) { /* innermost first */
        str t = keys[i];
        keys[i] = keys[--k];
        keys[k] = t;
    }
    return true;
}

static bool place_of_tag(rows *x, str value, uint32_t key, uint32_t *out, err *e)
{
    if (!hash_index_room(&x->by_tag, x->v->a)) return err_memory(e);
    uint64_t h = hash_bytes(value.p, value.n, hash_mix(x->by_tag.seed, key));
    uint32_t k = hash_first(&x->by_tag, h), at;
    for (; hash_next(&x->by_tag, &k, h, &at); k++)
        if (x->tags.v[at].key == key && str_eq(x->tags.v[at].value, value))
            return *out = x->tags.v[at].place, true;
    tag_place *t = vec_push(x->v->a, &x->tags);
    if (!t) return err_memory(e);
    if (!places_add_tag(&x->places, value, x->keys[key], out, e)) return false;
    t->value = value;
    t->key = key;
    t->place = *out;
    hash_put(&x->by_tag, k, h, (uint32_t)(x->tags.n - 1));
    return true;
}

/* Interns the list of tags of a sample. */
static bool list_of(rows *x, const sample *s, uint32_t *out, err *e)
{
    uint32_t list[ARRAY_LEN(x->keys)];
    size_t bytes = x->n_keys * sizeof *list;
    for (uint32_t k = 0; k < x->n_keys; k++) {
        str value;
        if (!tag_text(&x->texts, s, x->keys[k], &value, e)) return false;
        if (!place_of_tag(x, value, k, &list[k], e)) return false;
    }
    if (!hash_index_room(&x->by_list, x->v->a)) return err_memory(e);
    uint64_t h = hash_bytes(list, bytes, x->by_list.seed);
    uint32_t k = hash_first(&x->by_list, h), at;
    for (; hash_next(&x->by_list, &k, h, &at); k++)
        if (!memcmp(&x->lists.v[at * x->n_keys], list, bytes)) return *out = at, true;
    if (!vec_reserve(x->v->a, &x->lists, x->n_keys)) return err_memory(e);
    *out = (uint32_t)(x->lists.n / x->n_keys);
    memcpy(x->lists.v + x->lists.n, list, bytes);
    x->lists.n += x->n_keys;
    hash_put(&x->by_list, k, h, *out);
    return true;
}

/* Writes the places of a row: [leaf tags | locations | root tags]. */
static bool put_places(rows *x, view_row *r, uint32_t stack, uint32_t tags, err *e)
{
    span st = stack_of(&x->m->dict, stack);
    size_t n = st.n + x->n_keys;
    const uint32_t *list = &x->lists.v[tags * x->n_keys];
    if (x->pool.n + n > UINT32_MAX || !vec_reserve(x->v->a, &x->pool, n)) return err_memory(e);
    uint32_t *to = x->pool.v + x->pool.n;
    memcpy(to, list, x->n_leaves * sizeof *to);
    if (st.n) memcpy(to + x->n_leaves, x->m->dict.frames.v + st.at, st.n * sizeof *to);
    memcpy(to + x->n_leaves + st.n, list + x->n_leaves, (x->n_keys - x->n_leaves) * sizeof *to);
    r->at = (uint32_t)x->pool.n;
    r->n = (uint32_t)n;
    x->pool.n += n;
    return true;
}

static view_row *row_of_tags(rows *x, const sample *s, uint32_t i, size_t first, err *e)
{
    uint32_t tags = 0, at, k = 0;
    if (!list_of(x, s, &tags, e)) return NULL;
    if (!hash_index_room(&x->by_row, x->v->a)) return err_memory(e), NULL;
    uint64_t h = hash_mix(x->by_row.seed, (uint64_t)s->stack << 32 | tags);
    if (!x->o->by_sample)
        for (k = hash_first(&x->by_row, h); hash_next(&x->by_row, &k, h, &at); k++)
            if (x->keyed.v[at].stack == s->stack && x->keyed.v[at].tags == tags)
                return &x->v->rows.v[first + at];
    view_row *r = new_row(x, i, e);
    tag_row *key = r ? vec_push(x->v->a, &x->keyed) : NULL;
    if (!key || !put_places(x, r, s->stack, tags, e)) return err_memory(e), NULL;
    key->stack = s->stack;
    key->tags = tags;
    if (!x->o->by_sample) hash_put(&x->by_row, k, h, (uint32_t)(x->keyed.n - 1));
    return r;
}

/* ---- all samples ---- */

static bool take_samples(rows *x, size_t first, err *e)
{
    view *v = x->v;
    const select_opts *o = x->o;
    bool window = o->start || o->end;
    int64_t before = v->total;
    observed seen = {0};
    for (size_t i = 0; i < x->p->n_samples; i++) {
        if (!stopper_step(v->stop, 1, e)) return false;
        sample s = sample_at(x->m, x->p, i);
        int64_t value = LIKELY(s.n_values == 1) ? s.values[0] : sample_total(&s, &v->saturated);
        if (UNLIKELY(x->weight != 1)) value = weighted(value, x->weight, &v->saturated);
        v->total = add_clamped(v->total, abs_clamped(value), &v->saturated);
        observed_add(&seen, &s);
        bool yes = true;
        if (!x->filter.plain && !sample_filter_passes(&x->filter, &s, &yes, e)) return false;
        if (yes && window) {
            yes = in_window(&s, o, &value, &v->saturated);
            if (x->weight != 1) value = weighted(value, x->weight, &v->saturated);
        }
        if (!yes) continue;
        view_row *r = x->n_keys ? row_of_tags(x, &s, (uint32_t)i, first, e)
                                : row_of_stack(x, &s, (uint32_t)i, e);
        if (!r) return false;
        r->value = add_clamped(r->value, value, &v->saturated);
        v->n_selected++;
    }
    summed of = profile_summed(x->m, x->p);
    v->n_samples += of.is ? of.n_samples : x->p->n_samples;
    v->n_observations += of.is ? of.n_observations : observed_total(&seen, &x->m->dict, x->p);
    if (of.is && of.absolute > 0)
        v->total = add_clamped(before, abs_clamped(weighted(of.absolute, x->weight, &v->saturated)),
                               &v->saturated);
    return true;
}

/* Removes the frames and stacks that the patterns exclude; moves the remaining rows together. */
static bool cut_rows(rows *x, size_t first, err *e)
{
    view *v = x->v;
    const uint32_t *stacks = x->n_keys ? x->pool.v : x->m->dict.frames.v;
    size_t n = first;
    for (size_t i = first; i < v->rows.n; i++) {
        view_row r = v->rows.v[i];
        if (!stopper_step(v->stop, 1 + r.n, e)) return false;
        if (!places_cut(&x->places, stacks, &r.at, &r.n)) continue;
        v->sum = add_clamped(v->sum, r.value, &v->saturated);
        v->rows.v[n++] = r;
    }
    v->rows.n = n;
    return true;
}

/* Computes the depth of the deepest row.  ERR_LIMIT when the rows have too many frames in total. */
static bool measure_rows(const rows *x, const view_part *part, err *e)
{
    view *v = x->v;
    uint64_t deepest = 0, all = 0;
    for (size_t i = 0; i < part->n_rows; i++) {
        uint32_t n = v->rows.v[part->first_row + i].n;
        if (n > deepest) deepest = n;
        all += n;
    }
    if (deepest * x->places.most > ROOMY || all * x->places.most > VIEW_MAX_FRAMES) {
        deepest = all = 0;
        for (size_t i = 0; i < part->n_rows && all <= VIEW_MAX_FRAMES; i++) {
            const view_row *r = &v->rows.v[part->first_row + i];
            uint64_t n = 0;
            for (uint32_t k = 0; k < r->n; k++) {
                uint32_t place = part->place[part->stacks[r->at + k]];
                n += place & PLACE_MANY ? v->many.v[place & ~PLACE_MANY] : 1;
            }
            if (n > deepest) deepest = n;
            all += n;
        }
    } else {
        deepest *= x->places.most;
    }
    if (all > VIEW_MAX_FRAMES)
        return err_set(e, ERR_LIMIT, "the stacks have more than %u frames in total",
                       (unsigned)VIEW_MAX_FRAMES);
    if (deepest > v->max_depth) v->max_depth = (uint32_t)deepest;
    return true;
}

/* ---- paths ---- */

/* Removes the rows whose frames, as they are shown, are not on the paths.  `before`: the sum without
 * the rows of the part. */
static bool keep_paths(rows *x, view_part *part, int64_t before, err *e)
{
    view *v = x->v;
    if (!x->begins_with.n && !x->ends_with.n) return true;
    if (x->room <= v->max_depth) {
        x->room = v->max_depth + 1;
        if (!(x->scratch = view_scratch(v, e))) return false;
    }
    size_t n = part->first_row;
    v->sum = before;
    for (size_t i = n; i < part->first_row + part->n_rows; i++) {
        view_row r = v->rows.v[i];
        uint32_t depth = view_frames(v, part, &r, x->scratch);
        if (!stopper_step(v->stop, 1 + depth, e)) return false;
        bool begins = frame_path_fits(&x->begins_with, v->frames, x->scratch, depth, false),
             ends = frame_path_fits(&x->ends_with, v->frames, x->scratch, depth, true);
        if (begins) v->matched |= 1 << MATCHED_BEGIN;
        if (ends) v->matched |= 1 << MATCHED_END;
        if (!begins || !ends) continue;
        v->sum = add_clamped(v->sum, r.value, &v->saturated);
        v->rows.v[n++] = r;
    }
    v->rows.n = n;
    part->n_rows = n - part->first_row;
    return true;
}

/* ---- views ---- */

void view_init(view *v, frame_table *f, arena *a) { *v = (view){.a = a, .frames = f}; }

static void tell_unmatched(rows *x)
{
    const select_opts *o = x->o;
    const struct {
        size_t given;
        unsigned bit;
        const char *name;
    } all[] = {
        {o->focus.n, MATCHED_FOCUS, "focus"},
        {o->ignore.n, MATCHED_IGNORE, "ignore"},
        {o->hide.n, MATCHED_HIDE, "hide"},
        {o->show.n, MATCHED_SHOW, "show"},
        {o->show_from.n, MATCHED_FROM, "show-from"},
        {o->collapse.n, MATCHED_COLLAPSE, "collapse"},
        {o->collapse_library.n, MATCHED_LIBRARY, "collapse-library"},
        {o->collapse_recursion.n, MATCHED_RECURSION, "collapse-recursion"},
        {o->collapse_direct_recursion.n, MATCHED_DIRECT, "collapse-direct-recursion"},
        {o->focus_category.n, MATCHED_CATEGORY, "focus-category"},
        {o->tagfocus.n, MATCHED_TAGFOCUS, "tagfocus"},
        {o->tagignore.n, MATCHED_TAGIGNORE, "tagignore"},
        {o->begins_with.n, MATCHED_BEGIN, "begins-with"},
        {o->ends_with.n, MATCHED_END, "ends-with"},
    };
    view *v = x->v;
    size_t n = 0;
    if (x->filter.focus_hit) v->matched |= 1 << MATCHED_TAGFOCUS;
    if (x->filter.ignore_hit) v->matched |= 1 << MATCHED_TAGIGNORE;
    v->unmatched[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].given && !(v->matched >> all[i].bit & 1))
            n += (size_t)snprintf(v->unmatched + n, sizeof v->unmatched - n, "%s%s", n ? ", " : "",
                                  all[i].name);
}

/* Prepares data that all profiles of a model share. */
static bool begin_model(rows *x, err *e)
{
    arena *a = x->v->a;
    x->row_of = arena_new(a, uint32_t, dict_n_stacks(&x->m->dict) + 1);
    if (!x->row_of) return err_memory(e);
    if (!frame_path_read(x->o->begins_with, a, &x->begins_with, e) ||
        !frame_path_read(x->o->ends_with, a, &x->ends_with, e))
        return false;
    if (!split_keys(x->o->tagleaf, x->keys, ARRAY_LEN(x->keys), &x->n_keys, e)) return false;
    x->n_leaves = x->n_keys;
    if (!split_keys(x->o->tagroot, x->keys, ARRAY_LEN(x->keys), &x->n_keys, e)) return false;
    if (x->n_keys && !tag_texts_init(&x->texts, x->m, a, e)) return false;
    return sample_filter_init(&x->filter, x->m, x->o, a, e);
}

/* Locations are evaluated once for all profiles with the same drop_frames, which is nearly
 * always all of them. */
static bool begin_profile(rows *x, err *e)
{
    x->keyed.n = x->keyed.cap = 0;
    x->keyed.v = NULL;
    x->pool.n = x->pool.cap = 0;
    x->pool.v = NULL;
    x->by_row = (hash_index){0};
    x->new_places = !x->places.m || !places_same(&x->places, x->p);
    if (!x->new_places) return true;
    places_free(&x->places);
    x->by_tag = x->by_list = (hash_index){0};
    x->tags.n = x->lists.n = 0;
    return places_init(&x->places, x->v, x->m, x->p, x->o, e);
}

static bool add_rows(rows *x, err *e)
{
    view *v = x->v;
    if (!begin_profile(x, e)) return false;
    size_t first = v->rows.n;
    int64_t before = v->sum;
    if (!vec_reserve(v->a, &v->rows, x->o->by_sample ? x->p->n_samples : 1)) return err_memory(e);
    if (!take_samples(x, first, e)) return false;
    for (size_t i = 0; i < x->p->n_samples; i++) x->row_of[x->p->stack[i]] = 0;
    if (!cut_rows(x, first, e)) return false;
    view_part *part = vec_push(v->a, &v->parts);
    if (!part) return err_memory(e);
    *part = (view_part){.m = x->m,
                        .p = x->p,
                        .first_row = first,
                        .n_rows = v->rows.n - first,
                        .stacks = x->n_keys ? x->pool.v : x->m->dict.frames.v,
                        .place = x->places.place,
                        .n_places = x->places.n,
                        .start = x->o->start,
                        .end = x->o->end,
                        .weight = x->weight};
    return measure_rows(x, part, e) && keep_paths(x, part, before, e);
}

/* Updates earlier parts, because adding tags may have moved the table that they point to. */
static void renew_places(rows *x, size_t first_part, const uint32_t *old)
{
    if (x->places.place == old) return;
    for (size_t i = first_part; i < x->v->parts.n; i++)
        if (x->v->parts.v[i].place == old) x->v->parts.v[i].place = x->places.place;
}

static bool add_profile(rows *x, err *e)
{
    view *v = x->v;
    const dict *d = &x->m->dict;
    str type = dict_str(d, x->p->sample_type.type), unit = dict_str(d, x->p->sample_type.unit);
    if (!v->parts.n) {
        v->type = type;
        v->unit = unit;
    } else if (!str_eq(v->unit, unit)) {
        return err_set(e, ERR_MISMATCH, "%.*s in %.*s cannot be added to %.*s in %.*s",
                       STR_ARG(type), STR_ARG(unit), STR_ARG(v->type), STR_ARG(v->unit));
    }
    return add_rows(x, e);
}

bool view_add(view *v, const model *m, const select_opts *o, double weight, err *e)
{
    u32s chosen;
    if (!select_profiles(m, o, v->a, &chosen, e)) return false;
    rows x = {.v = v, .m = m, .o = o, .weight = weight};
    size_t first_part = v->parts.n;
    bool ok = begin_model(&x, e);
    for (size_t i = 0; ok && i < chosen.n; i++) {
        const uint32_t *old = x.places.place;
        x.p = &m->profiles.v[chosen.v[i]];
        ok = add_profile(&x, e);
        if (ok && !x.new_places) renew_places(&x, first_part, old);
    }
    if (ok) tell_unmatched(&x);
    sample_filter_free(&x.filter);
    places_free(&x.places);
    return ok;
}

bool view_of(const model *m, const select_opts *o, granularity by, arena *a, frame_table *f,
             view *out, err *e)
{
    if (!frame_table_init(f, by, a, e)) return false;
    view_init(out, f, a);
    return view_add(out, m, o, 1, e);
}

uint32_t view_cut_loops(const view *v, uint32_t *out, uint8_t *is_inlined, uint32_t n)
{
    /* From the root, the last of `out`.  The frames that stay are out[to ..].  frame.at needs no
     * reset: it is a hint, which out[at] confirms. */
    uint32_t to = n;
    for (uint32_t i = n; i-- > 0;) {
        frame *f = &v->frames->v.v[out[i]];
        if ((f->flags & FRAME_LOOP) && f->at >= to && f->at < n && out[f->at] == out[i]) {
            to = f->at;
            continue;
        }
        out[--to] = out[i];
        if (is_inlined) is_inlined[to] = is_inlined[i];
        f->at = to;
    }
    memmove(out, out + to, (n - to) * sizeof *out);
    if (is_inlined) memmove(is_inlined, is_inlined + to, n - to);
    return n - to;
}

uint32_t *view_scratch(const view *v, err *e)
{
    uint32_t *p = arena_alloc(v->a, ((size_t)v->max_depth + 1) * sizeof *p);
    if (!p) err_memory(e);
    return p;
}
