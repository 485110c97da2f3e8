/* Groups the lines of a view by function for `list`. */
#include "query/listing.h"

#include "query/internal.h"

#include "base/ban.h"

static int row_order(const void *a, const void *b, void *table)
{
    const frame_table *t = table;
    const frame *x = &t->v.v[((const flat_row *)a)->frame],
                *y = &t->v.v[((const flat_row *)b)->frame];
    int d = str_cmp(frame_text(t, x->name), frame_text(t, y->name));
    if (!d) d = str_cmp(frame_text(t, x->file), frame_text(t, y->file));
    return d ? d : (x->line > y->line) - (x->line < y->line);
}

static bool keep_matching(const frame_table *t, flat *f, pattern *p, err *e)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        bool yes;
        const frame *x = &t->v.v[f->v[i].frame];
        if (!x->name || (x->flags & FRAME_TAG)) continue;
        if (!pattern_match(p, frame_text(t, x->name), &yes, e)) return false;
        if (yes) f->v[n++] = f->v[i];
    }
    f->n = n;
    return true;
}

static bool add_row(const frame_table *t, const flat_row *r, arena *a, listing *out, err *e)
{
    bool saturated = false;
    const frame *x = &t->v.v[r->frame];
    listed *last = out->v.n ? &out->v.v[out->v.n - 1] : NULL;
    if (!last || last->name != x->name || last->file != x->file) {
        last = vec_push(a, &out->v);
        if (!last) return err_memory(e);
        *last = (listed){.name = x->name, .file = x->file, .first = out->lines.n};
    }
    listed_line *l = vec_push(a, &out->lines);
    if (!l) return err_memory(e);
    *l = (listed_line){x->line, r->flat, r->cum};
    last->n++;
    last->flat = add_clamped(last->flat, r->flat, &saturated);
    last->cum = add_clamped(last->cum, r->cum, &saturated);
    return true;
}

bool listing_of(const view *v, pattern *p, arena *a, listing *out, err *e)
{
    flat f;
    *out = (listing){0};
    if (!flat_of(v, &(flat_opts){0}, a, &f, e)) return false;
    if (!keep_matching(v->frames, &f, p, e)) return false;
    if (f.n) qsort_r(f.v, f.n, sizeof *f.v, row_order, v->frames);
    for (size_t i = 0; i < f.n; i++)
        if (!add_row(v->frames, &f.v[i], a, out, e)) return false;
    return true;
}
