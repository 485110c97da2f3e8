/* Sorts the rows of all functions by address and builds the table with its buckets.  Overlapping
 * functions are truncated, and gaps between functions get RULE_NONE, so that a search needs no end
 * addresses. */
#include "unwind/internal.h"

#include "base/ban.h"

enum { SHIFT_MIN = 6 }; /* a bucket covers at least 64 bytes of code */

static int by_start(const void *x, const void *y)
{
    const cfi_function *a = x, *b = y;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static bool push(cfi_compiler *c, unwind_table *t, size_t *cap, unwind_row row)
{
    if (t->n_rows && t->rows[t->n_rows - 1].pc == row.pc) t->n_rows--;
    if (t->n_rows ? t->rows[t->n_rows - 1].rule == row.rule : row.rule == RULE_NONE) return true;
    if (t->n_rows == *cap) return err_set(c->e, ERR_LIMIT, "more rows than there is room for");
    t->rows[t->n_rows++] = row;
    return true;
}

/* Writes the rows of all functions.  A function that begins inside another one ends that one.
 * Linkers leave such overlaps only by mistake.
 * */
static bool lay_out(cfi_compiler *c, unwind_table *t, size_t cap)
{
    uint32_t end = 0;
    for (size_t i = 0; i < c->functions.n; i++) {
        const cfi_function *f = &c->functions.v[i];
        while (t->n_rows && t->rows[t->n_rows - 1].pc >= f->start && end > f->start) t->n_rows--;
        /* Padding between functions is never executed, but a prepared stack returns to the first
         * byte of a function, and the lookup of the byte before it must find RULE_NONE. */
        if (f->start > end && !push(c, t, &cap, (unwind_row){end, RULE_NONE})) return false;
        for (uint32_t k = 0; k < f->n_rows; k++)
            if (!push(c, t, &cap, c->rows.v[f->first_row + k])) return false;
        end = f->end;
    }
    return push(c, t, &cap, (unwind_row){end, RULE_NONE});
}

/* Adds at most one bucket per four rows, so that a table costs at most 9 bytes per row. */
static bool add_buckets(cfi_compiler *c, unwind_table *t)
{
    if (!t->n_rows) return true;
    uint32_t last = t->rows[t->n_rows - 1].pc;
    t->shift = SHIFT_MIN;
    while (last >> t->shift > t->n_rows / 4 + 1) t->shift++;
    t->n_buckets = (last >> t->shift) + 2;
    t->buckets = arena_array(c->a, t->n_buckets, sizeof *t->buckets);
    if (!t->buckets) return err_memory(c->e);
    uint32_t row = 0;
    for (uint32_t b = 0; b < t->n_buckets; b++) {
        uint64_t start = (uint64_t)b << t->shift;
        while (row < t->n_rows && t->rows[row].pc <= start) row++;
        t->buckets[b] = row;
    }
    t->buckets[t->n_buckets - 1] = t->n_rows;
    return true;
}

bool cfi_make_table(cfi_compiler *c, unwind_table *t)
{
    size_t cap = c->rows.n + c->functions.n + 1;
    if (cap > UINT32_MAX / 2) return err_set(c->e, ERR_LIMIT, "too many rows");
    for (size_t i = 1; i < c->functions.n; i++)
        if (by_start(&c->functions.v[i - 1], &c->functions.v[i]) > 0) {
            qsort(c->functions.v, c->functions.n, sizeof *c->functions.v, by_start);
            break;
        }
    t->rows = arena_array(c->a, cap, sizeof *t->rows);
    t->wide = arena_array(c->a, c->wide.n, sizeof *t->wide);
    if (!t->rows || !t->wide) return err_memory(c->e);
    t->n_wide = (uint32_t)c->wide.n;
    if (c->wide.n) memcpy(t->wide, c->wide.v, c->wide.n * sizeof *t->wide);
    return lay_out(c, t, cap) && add_buckets(c, t);
}
