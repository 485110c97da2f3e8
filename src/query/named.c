/* Sums the rows that match a pattern. When nothing matches, the error suggests similar names. */
#include "query/named.h"

#include "base/words.h"
#include "query/internal.h"

#include "base/ban.h"
#include <stdio.h>

enum {
    NEAREST = 3,     /* names that an error suggests */
    NAME_BYTES = 36, /* bytes of each suggested name, because an error message is one sentence */
    COMPARED = 120,  /* bytes of a name that are compared */
};

/* ---- matching ---- */

static bool frame_matches(pattern *p, const frame_table *f, const frame *x, bool *yes, err *e)
{
    if (!pattern_match(p, x->label, yes, e)) return false;
    return *yes || pattern_match(p, frame_text(f, x->file), yes, e);
}

/* Marks the frames whose name or file matches; evaluates each frame once. */
static bool mark_frames(pattern *p, const view *v, bool **out, err *e)
{
    const frame_table *f = v->frames;
    *out = arena_new(v->a, bool, f->v.n + 1);
    if (!*out) return err_memory(e);
    for (size_t i = 0; i < f->v.n; i++)
        if (!frame_matches(p, f, &f->v.v[i], &(*out)[i], e)) return false;
    return true;
}

static void add_marked(const view *v, const bool *marked, uint32_t *scratch, named *out)
{
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *part = &v->parts.v[k];
        for (size_t i = 0; i < part->n_rows; i++) {
            const view_row *r = &v->rows.v[part->first_row + i];
            uint32_t n = view_frames(v, part, r, scratch);
            bool hit = false;
            for (uint32_t j = 0; j < n; j++) hit |= marked[scratch[j]];
            if (!hit) continue;
            out->sum += (double)r->value;
            out->any = true;
        }
    }
}

bool named_in(const view *v, str text, bool literal, const char *what, named *out, err *e)
{
    pattern *p = NULL;
    bool *marked;
    uint32_t *scratch = view_scratch(v, e);
    *out = (named){0};
    if (!scratch || !pattern_new(text, literal, what, v->a, &p, e)) return false;
    bool ok = mark_frames(p, v, &marked, e);
    pattern_free(p);
    if (ok) add_marked(v, marked, scratch, out);
    return ok;
}

/* ---- suggestions ---- */

/* Copies a pattern or name in lower case, without the special characters of expressions. */
static str plain(str s, char out[COMPARED])
{
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < COMPARED; i++) {
        char c = s.p[i];
        if (strchr("^$\\()[]|*+?", c)) continue;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    return (str){out, n};
}

/* Returns the last part of a name: "parse" in "json::Reader::parse". */
static str last_part(str s)
{
    for (size_t i = s.n; i > 0; i--)
        if (strchr(":./", s.p[i - 1])) return (str){s.p + i, s.n - i};
    return s;
}

typedef struct nearby {
    uint32_t frame[NEAREST];
    size_t distance[NEAREST], n;
} nearby;

static void offer(nearby *x, uint32_t i, size_t distance)
{
    size_t at = x->n < NEAREST ? x->n++ : NEAREST;
    for (; at > 0 && x->distance[at - 1] > distance; at--)
        if (at < NEAREST) x->frame[at] = x->frame[at - 1], x->distance[at] = x->distance[at - 1];
    if (at < NEAREST) x->frame[at] = i, x->distance[at] = distance;
}

static void offer_frames(const view *v, str wanted, bool *seen, uint32_t *scratch, nearby *x)
{
    for (size_t k = 0; k < v->parts.n; k++) {
        const view_part *part = &v->parts.v[k];
        for (size_t i = 0; i < part->n_rows; i++) {
            uint32_t n = view_frames(v, part, &v->rows.v[part->first_row + i], scratch);
            for (uint32_t j = 0; j < n; j++) {
                char text[COMPARED];
                if (seen[scratch[j]]) continue;
                seen[scratch[j]] = true;
                str label = plain(frame_label(v->frames, scratch[j]), text);
                size_t whole = edit_distance(wanted, label),
                       part_of = edit_distance(last_part(wanted), last_part(label)) + 1;
                offer(x, scratch[j], whole < part_of ? whole : part_of);
            }
        }
    }
}

bool named_nothing(const view *const *v, size_t n, str text, const char *what, err *e)
{
    char wanted[COMPARED], list[NEAREST * (NAME_BYTES + 2) + 1] = "";
    nearby x = {0};
    const frame_table *f = v[0]->frames;
    bool *seen = arena_new(v[0]->a, bool, f->v.n + 1);
    if (!seen) return err_memory(e);
    for (size_t i = 0; i < n; i++) {
        uint32_t *scratch = view_scratch(v[i], e);
        if (!scratch) return false;
        offer_frames(v[i], plain(text, wanted), seen, scratch, &x);
    }
    for (size_t i = 0, at = 0; i < x.n; i++) {
        str label = frame_label(f, x.frame[i]);
        int take = label.n < NAME_BYTES ? (int)label.n : NAME_BYTES;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.*s", i ? ", " : "", take, label.p);
    }
    return err_set(e, ERR_USAGE, "%s matches no frame%s%s", what, x.n ? "; nearest: " : "", list);
}
