/* draw/flame.h - a flame graph before it is drawn: sizes, colours and texts of every frame.  Pure.
 *
 *   tree ──► flame_of ──► flame ──► flame_svg    one self-contained SVG
 *                              └──► flame_term   rows of coloured cells
 *
 * The width of a box is its value; for negative values (freed bytes), the absolute value.  In a
 * comparison it is the mean of the shares before and after, so that vanished frames are
 * visible.  There is no "other" box: frames too narrow to draw are omitted and counted. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "query/tree.h"

typedef enum flame_color {
    FLAME_PACKAGE, /* by package (package_at) */
    FLAME_LIBRARY, /* by binary */
    FLAME_DIFF,    /* red: grew, blue: shrank; requires `before` and `after` */
} flame_color;

typedef struct flame_opts {
    str title;      /* name of the file; any bytes */
    str type, unit; /* of the values */
    str base_title; /* name of the other side of a comparison */
    flame_color color;
    /* The two sides of a comparison, or NULL.  They share the frames of the tree, which contains
     * both. */
    const tree *before, *after;
    /* Value of one sample of each side (view_sample_size): changes within the noise of sampling are
     * grey. 0: not known. */
    double before_size, after_size;
} flame_opts;

/* The functions of one package or library.  They share a hue. */
typedef struct flame_group {
    str name;     /* "": not known */
    double share; /* sum of self of its frames, as a fraction of the picture */
    unsigned hue; /* index of draw/palette.h; the same name nearly always has the same hue */
} flame_group;

enum { FLAME_LEGEND = 12 }; /* groups that have a hue of their own */

typedef struct flame {
    const tree *t;
    flame_opts o;
    double *size;        /* by node: fraction of the picture; [0] is 1, or 0 if it is empty */
    bool negative;       /* some value is negative */
    uint32_t *group_of;  /* by frame */
    flame_group *groups; /* largest share first, then by name */
    size_t n_groups;
    /* by node: the same node in `before` and `after`, or NO_NODE */
    uint32_t *before, *after;
} flame;

/* Computes the flame graph in time linear in nodes and frames, and O(g log g) in groups. The tree
 * must outlive the flame. ERR_MEMORY. */
NODISCARD bool flame_of(const tree *t, const flame_opts *o, arena *a, flame *out, err *e);

/* ---- one frame ---- */

/* Returns the name of a frame; "all" for the root. */
str flame_name(const flame *f, uint32_t node);
/* Appends "1.17 s · 12.3 % · self 20 ms", or both sides in a comparison. */
void flame_numbers(const flame *f, uint32_t node, buf *b);
/* Returns the source file or else the binary; "" when neither is known. */
str flame_place(const flame *f, uint32_t node);
/* Sets *hue and *shade to row and shade of the palette. In comparisons use flame_step. */
void flame_shade(const flame *f, uint32_t node, unsigned *hue, unsigned *shade);
/* Returns the share after minus the share before. */
double flame_change(const flame *f, uint32_t node);
/* Returns the change relative to both shares as a step of the palette (palette_step). */
int flame_step(const flame *f, uint32_t node);

/* Appends "cpu · 4.21 s": the type and the numbers of the root. */
void flame_summary(const flame *f, buf *b);

/* Appends "12.3 %", "0.04 %", "100 %". */
void share_text(buf *b, double share);

/* ---- the boxes in order of drawing: a parent, then its children from left to right ---- */
typedef struct flame_walk {
    const flame *f;
    double least; /* boxes smaller than this fraction of the picture are skipped */
    uint32_t node, depth;
    double x; /* left edge, as a fraction of the picture */
    bool begun;
    double *edge; /* by depth: where the next box begins */
} flame_walk;

NODISCARD bool flame_walk_new(const flame *f, double least, arena *a, flame_walk *out, err *e);
/* Moves to the next box: w->node, w->depth, w->x.  Returns false at the end. */
bool flame_walk_next(flame_walk *w);
/* Restarts the walk. */
void flame_walk_rewind(flame_walk *w);
