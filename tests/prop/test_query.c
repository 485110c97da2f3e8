/* For every file of the corpus and random models: the sums of a tree equal those of its samples,
 * and flat tables equal those of a naive loop. */
#include "../support/random_model.h"
#include "../support/test.h"
#include "format/format.h"
#include "query/flat.h"
#include "query/tree.h"

#include <ftw.h>
#include <string.h>

enum { NAIVE_FRAMES = 200000 }; /* with more frames, the naive table would take too long */

static int64_t sum_of(const model *m, const profile *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(m, p, i);
        sum = add_saturating(sum, sample_total(&s, NULL), NULL);
    }
    return sum;
}

static void check_tree(const view *v, const tree_opts *o, int64_t want, arena *a)
{
    tree t;
    err e = {0};
    assert_ok(tree_of(v, o, a, &t, &e), &e);
    assert_u64(t.total[0], want);
    int64_t *below = arena_new(a, int64_t, t.n);
    uint32_t *children = arena_new(a, uint32_t, t.n);
    for (size_t i = t.n; i-- > 1;) {
        assert_true(t.parent[i] < i);
        below[t.parent[i]] += t.total[i];
        children[t.parent[i]]++;
    }
    for (size_t i = 0; i < t.n; i++) {
        assert_u64(t.total[i], t.self[i] + below[i]);
        uint32_t n = 0;
        for (uint32_t c = t.first_child[i]; c; c = t.next_sibling[c], n++)
            assert_int_equal(t.parent[c], i);
        assert_int_equal(n, children[i]);
    }
}

/* Self and cumulative values by a naive loop over all rows and frames. */
static void check_flat(const view *v, arena *a)
{
    flat f;
    err e = {0};
    uint64_t n_frames = 0;
    assert_ok(flat_of(v, &(flat_opts){0}, a, &f, &e), &e);
    for (size_t i = 0; i < v->rows.n; i++) n_frames += v->rows.v[i].n;
    if (n_frames > NAIVE_FRAMES) return;
    uint32_t *stack = view_scratch(v, &e);
    int64_t *flat_ = arena_new(a, int64_t, v->frames->v.n + 1);
    int64_t *cum = arena_new(a, int64_t, v->frames->v.n + 1);
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *p = &v->parts.v[k];
        for (size_t i = p->first_row; i < p->first_row + p->n_rows; i++) {
            uint32_t n = view_frames(v, p, &v->rows.v[i], stack);
            assert_true(n <= v->max_depth);
            for (uint32_t x = 0; x < n; x++) {
                bool again = false;
                for (uint32_t y = 0; y < x && !again; y++) again = stack[y] == stack[x];
                if (!again) cum[stack[x]] += v->rows.v[i].value;
            }
            if (n) flat_[stack[0]] += v->rows.v[i].value;
        }
    }
    for (size_t i = 0; i < f.n; i++) {
        assert_u64(f.v[i].flat, flat_[f.v[i].frame]);
        assert_u64(f.v[i].cum, cum[f.v[i].frame]);
        assert_true(frame_label(f.frames, f.v[i].frame).n > 0);
    }
}

static void check_profile(const model *m, size_t i, granularity by)
{
    arena a = {0};
    frame_table table;
    view v;
    err e = {0};
    char index[24];
    snprintf(index, sizeof index, "%zu", i);
    select_opts o = {.sample_type = str_of(index), .no_inlines = by == BY_LINE};
    assert_ok(view_of(m, &o, by, &a, &table, &v, &e), &e);
    assert_int_equal(v.parts.n, 1);
    assert_ptr_equal(v.parts.v[0].p, &m->profiles.v[i]);
    assert_u64(v.sum, sum_of(m, &m->profiles.v[i]));
    check_tree(&v, NULL, v.sum, &a);
    check_tree(&v, &(tree_opts){.inverted = true, .order = TREE_BY_LABEL}, v.sum, &a);
    check_tree(&v, &(tree_opts){.max_depth = 3, .order = TREE_BY_TOTAL}, v.sum, &a);
    check_flat(&v, &a);
    arena_free(&a);
}

static void check_model(const model *m, granularity by)
{
    for (size_t i = 0; i < m->profiles.n && i < 12; i++) check_profile(m, i, by);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        arena a = {0};
        rng r = {hash_mix(rnd_seed(seed), seed)};
        model m = random_model(&r, &a, &(random_opts){.zero_first = true, .max_samples = 300});
        for (size_t i = 0; i < m.values.n; i++)
            m.values.v[i] %= 100000; /* sums that do not saturate */
        check_model(&m, (granularity)(seed % GRANULARITY_COUNT));
        arena_free(&a);
    }
}

/* ---- the corpus ---- */

static size_t n_files, n_profiles;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    buf b = {0};
    if (type != FTW_F || st->st_size > (8 << 20) || !test_read(path, &b)) return buf_free(&b), 0;
    arena a = {.budget = (size_t)1 << 30};
    document doc;
    err e = {0};
    if (format_read(buf_view(&b), NULL, &a, &doc, &e) && doc.model.profiles.n) {
        print_message("# %s\n", path);
        check_model(&doc.model, (granularity)(n_files++ % GRANULARITY_COUNT));
        check_model(&doc.model, BY_FUNCTION);
        n_profiles += doc.model.profiles.n;
    }
    arena_free(&a);
    buf_free(&b);
    return 0;
}

static void test_corpus(void **state)
{
    (void)state;
    char path[512];
    const char *dir = getenv("KILN_CORPUS");
    snprintf(path, sizeof path, "%s/../shared/corpus", test_source_root());
    if (!dir) dir = path;
    if (nftw(dir, visit, 16, FTW_PHYS) || !n_files) {
        print_message("# skip: no corpus at %s\n", dir);
        skip();
    }
    print_message("# %zu profiles of %zu files\n", n_profiles, n_files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
