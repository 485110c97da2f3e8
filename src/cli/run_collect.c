/* Merges the parts that the collector delivered into one model and adds names. */
#include "cli/run.h"

#include "cli/convert.h"
#include "cli/symbols.h"
#include "model/merge.h"
#include "base/ban.h"

/* There may be a part for each of thousands of processes.  As soon as there are FAN parts of one
 * generation, they are merged into one of the next, so that at most FAN of each generation are in
 * memory. */
enum { FAN = 32, GENERATIONS = 8, OPEN = FAN * GENERATIONS };

typedef struct fold {
    run *r;
    input in[OPEN];
    uint8_t generation[OPEN];
    size_t n;
} fold;

/* ---- in-use values: each flush reports them, and only the last one is used ---- */

static uint64_t end_of(const profile *p) { return p->time_unix_nano + p->duration_nano; }

static bool same_level(const model *a, const profile *p, const model *b, const profile *q)
{
    return str_eq(dict_str(&a->dict, p->sample_type.type),
                  dict_str(&b->dict, q->sample_type.type)) &&
           resource_equal(&a->resources.v[a->scopes.v[p->scope].resource],
                          &b->resources.v[b->scopes.v[q->scope].resource]);
}

/* Returns the older of two in-use profiles of the same process and type. */
static profile *older_level(model *a, profile *p, model *b)
{
    for (size_t i = 0; i < b->profiles.n; i++) {
        profile *q = &b->profiles.v[i];
        if (q == p || !q->n_samples || !profile_is_level(b, q) || !same_level(a, p, b, q)) continue;
        return end_of(p) <= end_of(q) ? p : q;
    }
    return NULL;
}

static void drop_old_levels(input *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        model *m = &in[i].doc.model;
        for (size_t k = 0; k < m->profiles.n; k++) {
            profile *p = &m->profiles.v[k];
            for (size_t j = i; j < n && p->n_samples && profile_is_level(m, p); j++) {
                profile *old = older_level(m, p, &in[j].doc.model);
                if (old) old->n_samples = 0;
            }
        }
    }
}

/* ---- merging ---- */

/* Merges the last k parts into one of generation g. */
static bool fold_last(fold *f, size_t k, unsigned g, bool final, err *e)
{
    input *from = f->in + (f->n - k);
    input one = {.path = f->r->output};
    const model *all[OPEN];
    one.arena.seed = f->r->c->seed;
    drop_old_levels(from, k);
    bool ok = merge_prepare(f->r->c, from, k, &one.arena, e);
    for (size_t i = 0; i < k; i++) all[i] = &from[i].doc.model;
    merge_opts o = {.join = true, .canonical = final, .copy_strings = true};
    ok = ok && model_merge(all, k, &o, &one.arena, &one.doc.model, e);
    for (size_t i = 0; i < k; i++) input_close(&from[i]);
    f->n -= k;
    if (!ok) {
        arena_free(&one.arena);
        return false;
    }
    f->in[f->n] = one;
    f->generation[f->n++] = (uint8_t)g;
    return true;
}

/* Adds a part.  Takes ownership of *bytes; if bytes is NULL, the part is in the file. */
static bool fold_add(fold *f, const char *path, buf *bytes, err *e)
{
    input *in = &f->in[f->n];
    bool ok = bytes ? input_open_bytes(f->r->c, path, bytes, in) : input_open(f->r->c, path, in);
    if (!ok) return true; /* already reported; the others are still valid */
    f->generation[f->n++] = 0;
    for (unsigned g = 0; g < GENERATIONS - 1; g++) {
        size_t k = 0;
        while (k < f->n && f->generation[f->n - 1 - k] == g) k++;
        if (k < FAN) break;
        if (!fold_last(f, k, g + 1, false, e)) return false;
    }
    return f->n < OPEN || fold_last(f, f->n, GENERATIONS - 1, false, e);
}

static bool add_part(fold *f, run_part *p, err *e)
{
    return p->file ? fold_add(f, p->file, NULL, e) : fold_add(f, "the profile", &p->bytes, e);
}

/* ---- order: the most interesting profile first ---- */

static int rank(const model *m, const profile *p)
{
    static const char *const first[] = {"cpu", "off_cpu", "wall"};
    str type = dict_str(&m->dict, p->sample_type.type);
    int n = (int)ARRAY_LEN(first);
    for (int i = 0; i < n; i++)
        if (str_eq(type, str_of(first[i]))) return i;
    return n;
}

/* Sorts the profiles of each process, by insertion because there are few. */
static void order_profiles(model *m)
{
    for (size_t k = 0; k < m->scopes.n; k++) {
        profile *v = m->profiles.v + m->scopes.v[k].first_profile;
        for (uint32_t i = 1; i < m->scopes.v[k].n_profiles; i++) {
            profile p = v[i];
            uint32_t at = i;
            for (; at && rank(m, &v[at - 1]) > rank(m, &p); at--) v[at] = v[at - 1];
            v[at] = p;
        }
    }
}

/* ---- counts ---- */

static uint64_t observations(const model *m, const profile *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        n += sample_observations(&s);
    }
    return n;
}

static void count_samples(run *r)
{
    const model *m = &r->in.doc.model;
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        str type = dict_str(&m->dict, p->sample_type.type);
        r->n_samples += p->n_samples;
        if (str_eq(type, STR("cpu"))) r->n_cpu += observations(m, p);
        if (str_eq(type, STR("wall"))) r->n_wall += observations(m, p);
    }
}

/* Counts distinct thread.id values per resource, that is, per process. */
static bool count_threads(run *r, err *e)
{
    const model *m = &r->in.doc.model;
    uint32_t *seen = arena_new(&r->arena, uint32_t, m->dict.attributes.n);
    if (!seen) return err_set(e, ERR_MEMORY, "the memory budget is exhausted");
    for (size_t i = 0; i < m->profiles.n; i++) {
        const profile *p = &m->profiles.v[i];
        uint32_t mark = m->scopes.v[p->scope].resource + 1;
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(m, p, k);
            for (uint32_t t = 0; t < s.n_attrs; t++) {
                const attribute *at = &m->dict.attributes.v[s.attrs[t]];
                bool thread = str_eq(dict_str(&m->dict, at->key), STR("thread.id"));
                r->n_threads += thread && seen[s.attrs[t]] != mark;
                if (thread) seen[s.attrs[t]] = mark;
            }
        }
    }
    return true;
}

static bool add_names(run *r, err *e)
{
    symbolize_opts o;
    symbolize_report report;
    bool ok = symbols_wanted(r->c, &r->in.arena, &o, e) &&
              symbolize(&r->in.doc.model, &o, &r->in.arena, &report, e) &&
              run_add_symbols(r, &report, true, e);
    cli_status(r->c, "%s", "");
    return ok;
}

static bool take_result(fold *f, err *e)
{
    run *r = f->r;
    if (!f->n) return true;
    if (!fold_last(f, f->n, GENERATIONS, true, e)) return false;
    r->in = f->in[--f->n];
    order_profiles(&r->in.doc.model);
    count_samples(r);
    err nameless = {0};
    if (!add_names(r, &nameless)) cli_note(r->c, "cannot look up symbol names: %s", nameless.msg);
    return count_threads(r, e);
}

bool run_collect(run *r, err *e)
{
    fold *f = calloc(1, sizeof *f);
    if (!f) return err_memory(e);
    f->r = r;
    bool ok = true;
    /* Parts of the program itself come first, then those of processes that it started. */
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; ok && i < r->parts.n; i++)
            if ((r->parts.v[i].pid == (uint32_t)r->end.pid) == own)
                ok = add_part(f, &r->parts.v[i], e);
    ok = ok && take_result(f, e);
    while (f->n) input_close(&f->in[--f->n]);
    free(f);
    return ok;
}
