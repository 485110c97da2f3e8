/* Merges nested ranges, line tables and symbols into one sorted list of rows.  Apart from sorting
 * this is linear.
 *
 *     scopes   main ├──────────────────────────┤      lines   10 ├────┤ 11 ├────────┤ 12 ├────
 *              a         ├────────────┤
 *              b              ├───┤
 *     rows     main:10 │ main:11 │ a:11 │ b:11 │ ...  a new row wherever something changes */
#include "objfile/index_build.h"

#include "base/ban.h"

/* From `address` on, `what` applies. */
typedef struct step {
    uint64_t address;
    uint32_t what; /* position + 1 of the scope, line or symbol; 0: none */
} step;

typedef VEC(step) steps;

static bool put_step(index_builder *b, steps *s, uint64_t address, uint32_t what)
{
    if (s->n && s->v[s->n - 1].address == address) {
        s->v[s->n - 1].what = what;
        return true;
    }
    if (what == (s->n ? s->v[s->n - 1].what : 0)) return true;
    step *x = vec_push(b->a, s);
    if (!x) return false;
    *x = (step){address, what};
    return true;
}

/* ---- scopes ---- */

/* Orders outer before inner scopes: a caller has the lower position. */
static int by_start(const void *x, const void *y)
{
    const scope_range *a = x, *b = y;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi) return a->hi > b->hi ? -1 : 1;
    return (a->scope > b->scope) - (a->scope < b->scope);
}

typedef struct open_scopes {
    VEC(scope_range) v;
} open_scopes;

/* Closes the scopes that end at or before `upto`. */
static bool leave(index_builder *b, open_scopes *o, uint64_t upto, steps *out)
{
    while (o->v.n && o->v.v[o->v.n - 1].hi <= upto) {
        uint64_t at = o->v.v[--o->v.n].hi;
        while (o->v.n && o->v.v[o->v.n - 1].hi <= at) o->v.n--;
        if (!put_step(b, out, at, o->v.n ? o->v.v[o->v.n - 1].scope : 0)) return false;
    }
    return true;
}

static bool flatten_scopes(index_builder *b, steps *out)
{
    open_scopes open = {0};
    if (b->ranges.n) qsort(b->ranges.v, b->ranges.n, sizeof *b->ranges.v, by_start);
    for (size_t i = 0; i < b->ranges.n; i++) {
        scope_range r = b->ranges.v[i];
        if (!leave(b, &open, r.lo, out) || !put_step(b, out, r.lo, r.scope)) return false;
        scope_range *top = vec_push(b->a, &open.v);
        if (!top) return false;
        *top = r;
    }
    return leave(b, &open, UINT64_MAX, out);
}

/* ---- lines ---- */

typedef struct sequence {
    size_t first, last; /* rows [first, last) */
} sequence;

typedef struct sequences {
    const line_row *rows;
    VEC(sequence) v;
} sequences;

static int by_first(const void *x, const void *y, void *rows)
{
    const sequence *a = x, *b = y;
    const line_row *r = rows;
    uint64_t p = r[a->first].address, q = r[b->first].address;
    if (p != q) return p < q ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static bool find_sequences(index_builder *b, sequences *s)
{
    size_t first = 0;
    for (size_t i = 0; i < b->lines.n; i++) {
        if (!b->lines.v[i].end) continue;
        uint64_t hi = b->lines.v[i].address, lo = b->lines.v[first].address;
        if (first < i && hi > lo && index_clip(b, lo, &hi)) {
            sequence *x = vec_push(b->a, &s->v);
            if (!x) return false;
            *x = (sequence){first, i};
        }
        first = i + 1;
    }
    if (s->v.n) qsort_r(s->v.v, s->v.n, sizeof *s->v.v, by_first, b->lines.v);
    return true;
}

/* Converts line sequences to steps. Where two sequences overlap, the first one is used. */
static bool flatten_lines(index_builder *b, steps *out)
{
    sequences s = {0};
    uint64_t done = 0;
    if (!find_sequences(b, &s)) return false;
    for (size_t i = 0; i < s.v.n; i++) {
        const line_row *last = &b->lines.v[s.v.v[i].last];
        if (last->address <= done) continue;
        uint64_t at = done;
        for (size_t k = s.v.v[i].first; k < s.v.v[i].last; k++) {
            const line_row *r = &b->lines.v[k];
            if (r->address > last->address) break;
            if (r->address > at)
                at = r->address; /* a row that goes back begins at the current address */
            if (k + 1 < s.v.v[i].last && b->lines.v[k + 1].address <= at) continue;
            if (!put_step(b, out, at, (uint32_t)k + 1)) return false;
        }
        if (!put_step(b, out, last->address, 0)) return false;
        done = last->address;
    }
    return true;
}

/* ---- symbols ---- */

/* Converts symbols to steps. A symbol without a size extends to the next symbol or to the end of
 * the code. */
static bool flatten_symbols(index_builder *b, const symbol_list *l, steps *out)
{
    for (size_t i = 0; i < l->v.n; i++) {
        const symbol *s = &l->v.v[i];
        uint64_t end;
        bool last = i + 1 == l->v.n;
        if (!s->size || ckd_add(&end, s->address, s->size)) end = UINT64_MAX;
        index_clip(b, s->address, &end);
        if (!put_step(b, out, s->address, (uint32_t)i + 1)) return false;
        if (end == UINT64_MAX || (!last && end >= s[1].address)) continue;
        if (!put_step(b, out, end, 0)) return false;
    }
    return true;
}

/* ---- merging ---- */

static bool put_row(index_builder *b, uint64_t address, const uint32_t what[3],
                    const symbol_list *symbols)
{
    const line_row none = {0}, *l = what[1] ? &b->lines.v[what[1] - 1] : &none;
    index_row row = {.address = address,
                     .scope = what[0],
                     .file = l->file,
                     .line = l->line,
                     .column = l->column};
    if (what[2]) {
        const symbol *s = &symbols->v.v[what[2] - 1];
        row.symbol = index_text(b, s->name);
        if (!row.scope && !row.file) row.file = index_text(b, s->file);
    }
    index_row *last = b->rows.n ? &b->rows.v[b->rows.n - 1] : NULL;
    if (last && !memcmp(&last->scope, &row.scope, sizeof row - offsetof(index_row, scope)))
        return true;
    index_row *r = vec_push(b->a, &b->rows);
    if (!r) return false;
    *r = row;
    return !b->failed;
}

static bool join(index_builder *b, const steps s[3], const symbol_list *symbols)
{
    size_t at[3] = {0};
    uint32_t what[3] = {0};
    for (;;) {
        uint64_t next = UINT64_MAX;
        bool more = false;
        for (unsigned k = 0; k < 3; k++) {
            if (at[k] == s[k].n) continue;
            more = true;
            if (s[k].v[at[k]].address < next) next = s[k].v[at[k]].address;
        }
        if (!more) return true;
        for (unsigned k = 0; k < 3; k++)
            if (at[k] < s[k].n && s[k].v[at[k]].address == next) what[k] = s[k].v[at[k]++].what;
        if (!put_row(b, next, what, symbols)) return false;
    }
}

bool index_flatten(index_builder *b, const symbol_list *symbols)
{
    steps s[3] = {{0}};
    if (b->lines.n >= UINT32_MAX || symbols->v.n >= UINT32_MAX)
        return err_set(b->e, ERR_LIMIT, "too many lines or symbols for an index");
    return (flatten_scopes(b, &s[0]) && flatten_lines(b, &s[1]) &&
            flatten_symbols(b, symbols, &s[2]) && join(b, s, symbols)) ||
           err_memory(b->e);
}
