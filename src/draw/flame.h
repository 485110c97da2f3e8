/* draw/flame.h - a flame graph before it is drawn: sizes, colours and words of every frame.  Pure.
 *
 *   tree ──► flame_of ──► flame ──► flame_svg    one self-contained SVG
 *                              └──► flame_term   rows of coloured cells
 *
 * A box is as wide as its value; with values below zero (freed bytes) as their absolute value.  In a
 * comparison it is as wide as the mean of its shares before and after, so that what is gone is still to
 * be seen.  Nothing is gathered into an "other" box: frames too narrow to draw are left out and counted. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "query/tree.h"

typedef enum flame_color {
    FLAME_PACKAGE, /* by package, from the name; where that says nothing, by library */
    FLAME_LIBRARY, /* by binary */
    FLAME_DIFF,    /* red grew, blue shrank: needs `before` and `after` */
} flame_color;

typedef struct flame_opts {
    str title;      /* the file, for people; any bytes */
    str type, unit; /* of the values */
    str base_title; /* what is compared with */
    flame_color color;
    /* The two sides of a comparison, over the same frames as the tree, which holds both; or NULL. */
    const tree *before, *after;
} flame_opts;

/* Functions of one package or library: they share a hue. */
typedef struct flame_group {
    str name;     /* "" : not known */
    double share; /* of the picture that is self of its frames */
    unsigned hue; /* of draw/palette.h; the same name has the same hue in nearly every picture */
} flame_group;

enum { FLAME_LEGEND = 12 }; /* groups that have a hue for themselves */

typedef struct flame {
    const tree *t;
    flame_opts o;
    double *size;        /* by node: part of the picture, [0] is 1 (0: there is nothing to see) */
    bool negative;       /* some value is below zero */
    uint32_t *group_of;  /* by frame */
    flame_group *groups; /* largest share first, equals by name */
    size_t n_groups;
    /* by node: the same node in before and after; NO_NODE where it is not there */
    uint32_t *before, *after;
} flame;

/* Linear in nodes and frames (and g log g in groups).  The tree must outlive it.  ERR_LIMIT. */
NODISCARD bool flame_of(const tree *t, const flame_opts *o, arena *a, flame *out, err *e);

/* ---- one frame ---- */

/* Its name; the root's is "all". */
str flame_name(const flame *f, uint32_t node);
/* "1.17 s · 12.3 % · self 20 ms", or before and after in a comparison. */
void flame_numbers(const flame *f, uint32_t node, buf *b);
/* Where it is from: file or binary; "" when neither is known. */
str flame_place(const flame *f, uint32_t node);
/* Its box of the palette: hue and shade; in a comparison flame_step. */
void flame_shade(const flame *f, uint32_t node, unsigned *hue, unsigned *shade);
/* In a comparison: its share after less its share before. */
double flame_change(const flame *f, uint32_t node);
/* The same as a step of the palette, beside both shares: -PALETTE_DIFF .. PALETTE_DIFF. */
int flame_step(const flame *f, uint32_t node);

/* "cpu · 4.21 s", or what is compared; "4.21 s" of the root. */
void flame_summary(const flame *f, buf *b);

/* "12.3 %", "0.04 %", "100 %". */
void share_text(buf *b, double share);

/* ---- the boxes in order of drawing: a parent, then its children from left to right ---- */
typedef struct flame_walk {
    const flame *f;
    double least; /* boxes smaller than this part of the picture are skipped */
    uint32_t node, depth;
    double x; /* left edge, part of the picture */
    bool begun;
    double *edge; /* by depth */
} flame_walk;

NODISCARD bool flame_walk_new(const flame *f, double least, arena *a, flame_walk *out, err *e);
/* The next box in w->node, w->depth, w->x; false at the end. */
bool flame_walk_next(flame_walk *w);
/* Begins again. */
void flame_walk_rewind(flame_walk *w);
