/* Moves profiles from an unknown clock to Unix time (anchor.h).  Works on a decoded model: shifts
 * the time columns and appends attributes to the tables, which it copies to the arena first if
 * necessary. */
#include "wire/anchor.h"

#include "model/merge.h"
#include "wire/carried.h"
#include "base/ban.h"

/* ---- marks ---- */

static const attribute *attribute_of(const model *m, const profile *p, const char *key)
{
    const dict *d = &m->dict;
    const uint32_t *v = refs_at(&d->attr_refs, p->attrs);
    for (uint32_t i = 0; i < p->attrs.n; i++)
        if (str_eq(dict_str(d, d->attributes.v[v[i]].key), str_of(key)))
            return &d->attributes.v[v[i]];
    return NULL;
}

bool profile_is_undated(const model *m, const profile *p)
{
    const attribute *t = attribute_of(m, p, KILN_ATTR_TIME_EPOCH);
    return t && t->value.kind == ANY_STRING && str_eq(any_str(&t->value), STR("unknown"));
}

static uint64_t number_of(const model *m, const profile *p, const char *key)
{
    const attribute *t = attribute_of(m, p, key);
    return t && t->value.kind == ANY_INT ? (uint64_t)t->value.i : 0;
}

uint64_t profile_date(const model *m, const profile *p)
{
    return number_of(m, p, KILN_ATTR_TIME_DATE);
}

uint64_t profile_offset(const model *m, const profile *p)
{
    return number_of(m, p, KILN_ATTR_TIME_OFFSET);
}

/* ---- choosing a date ---- */

typedef struct anchoring {
    model *m;
    arena *a;
    u32s undated;         /* indices of the undated profiles */
    uint64_t first, last; /* start and end of these profiles, in their own clock */
    uint64_t date;        /* start of the recording according to the file; 0: unknown */
    uint64_t offset;
    const char *epoch, *what; /* value of kiln.time.epoch; text for the ledger */
} anchoring;

/* Extends first and last by a profile.  It ends at its last observation, or at the end of its
 * window if samples have no times. */
static void take_window(anchoring *x, const profile *p)
{
    uint64_t end, last = 0;
    bool timed = false;
    if (p->time_unix_nano < x->first) x->first = p->time_unix_nano;
    for (size_t i = 0; i < p->n_samples; i++) {
        span s = spans_at(&p->time_span, i);
        for (uint32_t k = 0; k < s.n; k++) {
            uint64_t t = x->m->times.v[s.at + k];
            if (t < x->first) x->first = t;
            if (t > last) last = t;
            timed = true;
        }
    }
    if (!timed) last = ckd_add(&end, p->time_unix_nano, p->duration_nano) ? UINT64_MAX : end;
    if (last > x->last) x->last = last;
}

static bool find_undated(anchoring *x)
{
    x->first = UINT64_MAX;
    for (size_t i = 0; i < x->m->profiles.n; i++) {
        const profile *p = &x->m->profiles.v[i];
        if (!p->attrs.n || !profile_is_undated(x->m, p)) continue;
        uint32_t *to = vec_push(x->a, &x->undated);
        if (!to) return false;
        *to = (uint32_t)i;
        take_window(x, p);
        if (!x->date) x->date = profile_date(x->m, p);
    }
    return true;
}

static bool begin_at(anchoring *x, uint64_t at, const char *epoch, const char *what)
{
    uint64_t end;
    if (!at || ckd_add(&end, at, x->last - x->first)) return false;
    x->offset = at - x->first;
    x->epoch = epoch, x->what = what;
    return true;
}

static bool end_at(anchoring *x, uint64_t at, const char *epoch, const char *what)
{
    uint64_t length = x->last - x->first;
    return at > length && begin_at(x, at - length, epoch, what);
}

#define YEAR_2000 (UINT64_C(946684800) * 1000000000)

static bool choose(anchoring *x, const time_anchor *t)
{
    bool wanted = t->modified || t->arrival;
    uint64_t modified = t->modified < YEAR_2000 ? 0 : t->modified;
    return begin_at(x, t->given, "given", "dated as requested") ||
           (wanted && begin_at(x, x->date, "file", "dated by the file itself")) ||
           end_at(x, modified, "modified", "dated by the modification time of the file") ||
           end_at(x, t->arrival, "arrival", "dated by the time of arrival");
}

/* ---- shifting times ---- */

static void move_profile(anchoring *x, profile *p, bool times)
{
    p->time_unix_nano += x->offset;
    for (size_t i = 0; times && i < p->n_samples; i++) {
        span s = spans_at(&p->time_span, i);
        for (uint32_t k = 0; k < s.n; k++) x->m->times.v[s.at + k] += x->offset;
    }
}

static void move_all(anchoring *x)
{
    model *m = x->m;
    bool all = x->undated.n == m->profiles.n;
    for (size_t i = 0; all && i < m->times.n; i++) m->times.v[i] += x->offset;
    for (size_t i = 0; i < x->undated.n; i++)
        move_profile(x, &m->profiles.v[x->undated.v[i]], !all);
}

/* ---- attributes ---- */

/* Copies a table to the arena with room for `more` entries, because its memory may have another
 * owner. */
#define GROW(x, table, more)                                                                       \
    grow((x)->a, (void **)&(table)->v, (table)->n, (table)->n + (more), sizeof *(table)->v,        \
         &(table)->cap)

static bool grow(arena *a, void **v, size_t n, size_t cap, size_t size, size_t *cap_out)
{
    void *to = arena_array(a, cap, size);
    if (!to) return false;
    if (n) memcpy(to, *v, n * size);
    *v = to;
    *cap_out = cap;
    return true;
}

static uint32_t add_string(dict *d, str s)
{
    for (size_t i = 0; i < d->strings.n; i++)
        if (str_eq(d->strings.v[i], s)) return (uint32_t)i;
    d->strings.v[d->strings.n] = s;
    return (uint32_t)d->strings.n++;
}

static any text_of(const char *z)
{
    return (any){.kind = ANY_STRING, .n = (uint32_t)strlen(z), .s = z};
}

/* Changes kiln.time.epoch from `unknown`, which only undated profiles use, to the source of the
 * date. */
static void rename_epoch(anchoring *x)
{
    for (size_t i = 0; i < x->undated.n; i++) {
        const profile *p = &x->m->profiles.v[x->undated.v[i]];
        const attribute *t = attribute_of(x->m, p, KILN_ATTR_TIME_EPOCH);
        x->m->dict.attributes.v[t - x->m->dict.attributes.v].value = text_of(x->epoch);
    }
}

/* Adds kiln.time.offset to the undated profiles. */
static bool add_offset(anchoring *x)
{
    dict *d = &x->m->dict;
    size_t refs = 0;
    for (size_t i = 0; i < x->undated.n; i++) refs += x->m->profiles.v[x->undated.v[i]].attrs.n + 1;
    if (!GROW(x, &d->strings, 2) || !GROW(x, &d->attributes, 1) || !GROW(x, &d->attr_refs, refs))
        return false;
    uint32_t offset = (uint32_t)d->attributes.n;
    d->attributes.v[d->attributes.n++] =
        (attribute){.key = add_string(d, STR(KILN_ATTR_TIME_OFFSET)),
                    .unit = add_string(d, STR("ns")),
                    .value = {.kind = ANY_INT, .i = (int64_t)x->offset}};
    for (size_t i = 0; i < x->undated.n; i++) {
        span *s = &x->m->profiles.v[x->undated.v[i]].attrs;
        uint32_t *to = d->attr_refs.v + d->attr_refs.n;
        memcpy(to, d->attr_refs.v + s->at, s->n * sizeof *to);
        to[s->n] = offset;
        *s = (span){(uint32_t)d->attr_refs.n, s->n + 1};
        d->attr_refs.n += s->n;
    }
    return true;
}

/* Removes kiln.time.epoch and kiln.time.date, and the entries that only they use. */
static bool remove_marks(anchoring *x, err *e)
{
    dict *d = &x->m->dict;
    if (!GROW(x, &d->attr_refs, 0)) return err_memory(e);
    for (size_t i = 0; i < x->undated.n; i++) {
        span *s = &x->m->profiles.v[x->undated.v[i]].attrs;
        uint32_t n = 0;
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t at = d->attr_refs.v[s->at + k];
            str key = dict_str(d, d->attributes.v[at].key);
            bool mark =
                str_eq(key, STR(KILN_ATTR_TIME_EPOCH)) || str_eq(key, STR(KILN_ATTR_TIME_DATE));
            if (!mark) d->attr_refs.v[s->at + n++] = at;
        }
        s->n = n;
    }
    model tidy;
    if (!model_gc(x->m, x->a, &tidy, e)) return false;
    *x->m = tidy;
    return true;
}

bool anchor_times(model *m, const time_anchor *t, ledger *l, arena *a, bool *moved, err *e)
{
    anchoring x = {.m = m, .a = a};
    *moved = false;
    if (!t->given && !t->modified && !t->arrival) return true;
    if (!find_undated(&x)) return err_memory(e);
    if (!x.undated.n || !choose(&x, t)) return true;
    *moved = true;
    move_all(&x);
    if (t->plain) {
        ledger_drop(l, STAGE_READ, LOSS_TIME, KILN_ATTR_TIME_EPOCH);
        return remove_marks(&x, e);
    }
    ledger_add_n(l, STAGE_INGEST, LOSS_TIME, KILN_ATTR_TIME_OFFSET, x.undated.n, "times",
                 str_of(x.what));
    rename_epoch(&x);
    return add_offset(&x) || err_memory(e);
}
