/* Writes folded stacks: one line for each distinct stack of names, sorted from the root. */
#include "format/folded_text.h"

#include "wire/carried.h"
#include "base/ban.h"

typedef struct stack_sum {
    span frames;      /* frame numbers in folder.pool, root first */
    int64_t value[2]; /* the second is used for differences only */
} stack_sum;

typedef struct folder {
    text_writer w;
    VEC(stack_sum) sums;
    u32s pool;
    hash_index index;
    uint32_t *of_stack; /* stack -> index of its sum + 1; 0: none yet */
    u32s scratch;
    uint32_t *rank; /* frame -> its rank when sorted by bytes */
    bool saturated;
} folder;

/* Finds or adds the sum for the list of frames in scratch. */
static stack_sum *intern(folder *x)
{
    const u32s *s = &x->scratch;
    if (!hash_index_room(&x->index, &x->w.a)) return NULL;
    uint64_t h = hash_bytes(s->v, s->n * sizeof *s->v, x->index.seed);
    uint32_t i = hash_first(&x->index, h);
    for (uint32_t at; hash_next(&x->index, &i, h, &at); i++) {
        span f = x->sums.v[at].frames;
        if (f.n == s->n && (!f.n || !memcmp(x->pool.v + f.at, s->v, f.n * sizeof *s->v)))
            return &x->sums.v[at];
    }
    if (x->pool.n > UINT32_MAX - s->n || !vec_reserve(&x->w.a, &x->pool, s->n)) return NULL;
    stack_sum *sum = vec_push(&x->w.a, &x->sums);
    if (!sum) return NULL;
    sum->frames = (span){(uint32_t)x->pool.n, (uint32_t)s->n};
    if (s->n) memcpy(x->pool.v + x->pool.n, s->v, s->n * sizeof *s->v);
    x->pool.n += s->n;
    hash_put(&x->index, i, h, (uint32_t)(x->sums.n - 1));
    return sum;
}

static stack_sum *sum_of(folder *x, const sample *s)
{
    uint32_t *known = &x->of_stack[s->stack];
    if (*known) return &x->sums.v[*known - 1];
    x->scratch.n = 0;
    if (!text_write_thread(&x->w, s, &x->scratch)) return NULL;
    bool threaded = x->scratch.n != 0;
    if (!text_write_stack(&x->w, s->stack, &x->scratch)) return NULL;
    stack_sum *sum = intern(x);
    if (sum && !threaded && !x->w.o->threads) *known = (uint32_t)(sum - x->sums.v) + 1;
    return sum;
}

static void lose_sample(folder *x, const sample *s, size_t i)
{
    const dict *d = &x->w.m->dict;
    text_lose(&x->w, LOSS_TIMESTAMP, s->n_times, (str){0}, "samples[%zu].timestamps_unix_nano", i);
    text_lose(&x->w, LOSS_LINK, s->link != 0, (str){0}, "samples[%zu].link_index", i);
    if (s->n_values > 1 && !s->n_times)
        text_lose(&x->w, LOSS_OBSERVATIONS, s->n_values, (str){0}, "samples[%zu].values", i);
    if (s->n_attrs)
        text_lose(&x->w, LOSS_ATTRIBUTE, s->n_attrs, d->strings.v[d->attributes.v[s->attrs[0]].key],
                  "samples[%zu]", i);
}

static bool add_profile(folder *x, const profile *p, unsigned k)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        sample s = sample_at(x->w.m, p, i);
        stack_sum *sum = sum_of(x, &s);
        if (!sum) return false;
        int64_t v = sample_total(&s, &x->saturated);
        sum->value[k] = add_saturating(sum->value[k], v, &x->saturated);
        lose_sample(x, &s, i);
    }
    return true;
}

static bool add_all(folder *x)
{
    const model *m = x->w.m;
    x->of_stack = arena_new(&x->w.a, uint32_t, dict_n_stacks(&m->dict) + 1);
    if (!x->of_stack) return false;
    for (size_t i = 0; i < m->profiles.n; i++)
        if (x->w.chosen[i] && !add_profile(x, &m->profiles.v[i], x->w.differs && i)) return false;
    if (x->saturated) text_lose(&x->w, LOSS_VALUE_SATURATED, 1, (str){0}, "samples[].values");
    return true;
}

/* ---- order ---- */

static int by_frames(const void *a, const void *b, void *context)
{
    const folder *x = context;
    span s = ((const stack_sum *)a)->frames, t = ((const stack_sum *)b)->frames;
    for (uint32_t i = 0; i < s.n && i < t.n; i++) {
        uint32_t p = x->rank[x->pool.v[s.at + i]], q = x->rank[x->pool.v[t.at + i]];
        if (p != q) return p < q ? -1 : 1;
    }
    return s.n < t.n ? -1 : s.n > t.n;
}

/* ---- lines ---- */

/* Returns the text after the last space of the leaf; empty when it has none. */
static str leaf_word(const folder *x, const stack_sum *s)
{
    if (!s->frames.n) return STR("");
    str leaf = x->w.names.v[x->pool.v[s->frames.at + s->frames.n - 1]];
    size_t i = leaf.n;
    while (i && leaf.p[i - 1] != ' ' && leaf.p[i - 1] != '\t') i--;
    return i ? (str){leaf.p + i, leaf.n - i} : STR("");
}

/* Whether every stack ends in a number, so that a reader would read two numbers per line. */
static bool looks_like_differences(const folder *x)
{
    decimal d;
    for (size_t i = 0; i < x->sums.n; i++)
        if (!decimal_parse(leaf_word(x, &x->sums.v[i]), &d)) return false;
    return x->sums.n && !x->w.differs;
}

static void put_lines(folder *x, buf *out)
{
    bool hide = looks_like_differences(x);
    for (size_t i = 0; i < x->sums.n; i++) {
        const stack_sum *s = &x->sums.v[i];
        text_put_stack(&x->w, out, refs_at(&x->pool, s->frames), s->frames.n);
        if (hide && !out->failed) {
            str word = leaf_word(x, s);
            out->p[out->n - word.n - 1] = '_';
            text_lose(&x->w, LOSS_NAME, 1, word, "frame that ends in a number");
        }
        for (unsigned k = 0; k <= x->w.differs; k++) {
            buf_putc(out, ' ');
            text_put_value(&x->w, out, s->value[k]);
        }
        buf_putc(out, '\n');
    }
}

bool folded_write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    folder x = {0};
    bool ok = text_write_open(&x.w, m, o, STR("samples"), STR("count"), e);
    ok = ok && ((add_all(&x) && (x.rank = text_ranks(x.w.names.v, x.w.names.n, &x.w.a))) ||
                err_memory(e));
    if (ok) {
        if (x.sums.n) qsort_r(x.sums.v, x.sums.n, sizeof *x.sums.v, by_frames, &x);
        put_lines(&x, out);
        ok = !out->failed || err_set(e, ERR_LIMIT, "the output exceeds its size limit");
    }
    text_write_close(&x.w);
    return ok;
}
