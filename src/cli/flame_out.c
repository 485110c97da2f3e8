/* Draws flame graphs of a selection: terminal, SVG and JSON.  A comparison draws one tree with the
 * stacks of both sides. */
#include "cli/flame_out.h"

#include "cli/query.h"
#include "draw/flame_svg.h"
#include "draw/flame_term.h"
#include "draw/text.h"
#include "query/samples.h"
#include "query/tree.h"
#include "wire/json.h"
#include "base/ban.h"
#include <errno.h>

typedef struct picture {
    query q;
    input base; /* --diff */
    bool has_base;
    tree all, before, after;        /* before and after: only with --diff */
    double before_size, after_size; /* of a sample */
    flame f;
} picture;

term_color cli_term_color(const cli *c)
{
    if (!c->term.color) return TERM_COLOR_NONE;
    if (c->term.colors > 256) return TERM_COLOR_RGB;
    bool forced = c->o.color && !strcmp(c->o.color, "always");
    return c->term.colors == 256 || forced ? TERM_COLOR_256 : TERM_COLOR_NONE;
}

/* ---- trees ---- */

static tree_opts tree_options(const cli *c)
{
    return (tree_opts){.inverted = c->o.inverted, .order = TREE_BY_LABEL};
}

/* Builds the trees of both sides over one frame table, and one tree with the stacks of both. */
static bool compare(picture *p, err *e)
{
    query *q = &p->q;
    tree_opts o = tree_options(q->c);
    const model *m = &p->base.doc.model;
    view before;
    select_opts chosen = query_options_for(q, &p->base);
    view_init(&before, &q->frames, &q->arena);
    p->after_size = view_sample_size(&q->v);
    if (!tree_of(&q->v, &o, &q->arena, &p->after, e) || !query_add_input(q, &p->base, &before, e) ||
        !tree_of(&before, &o, &q->arena, &p->before, e))
        return false;
    p->before_size = view_sample_size(&before);
    return view_add(&q->v, m, &chosen, 1, e) && tree_of(&q->v, &o, &q->arena, &p->all, e);
}

static bool make_flame(picture *p, err *e)
{
    query *q = &p->q;
    const cli_options *o = &q->c->o;
    tree_opts to = tree_options(q->c);
    flame_opts fo = {.title = o->title ? str_of(o->title) : input_title(q->c->args[0]),
                     .type = q->v.type,
                     .unit = q->v.unit};
    if (o->palette && !strcmp(o->palette, "library")) fo.color = FLAME_LIBRARY;
    if (!p->has_base) {
        if (!tree_of(&q->v, &to, &q->arena, &p->all, e)) return false;
    } else {
        if (!compare(p, e)) return err_in(e, "%s", o->diff);
        fo.before = &p->before;
        fo.after = &p->after;
        fo.before_size = p->before_size;
        fo.after_size = p->after_size;
        fo.base_title = input_title(o->diff);
        if (!o->palette || !strcmp(o->palette, "diff")) fo.color = FLAME_DIFF;
    }
    return flame_of(&p->all, &fo, &q->arena, &p->f, e);
}

/* ---- pictures ---- */

static bool draw_svg(picture *p, err *e)
{
    cli *c = p->q.c;
    flame_svg_opts o = {.icicle = c->o.icicle || c->o.inverted, .width = c->o.width.n};
    buf out = {0};
    c->pages = false;
    if (c->o.min_width) {
        char *end;
        o.least = strtod(c->o.min_width, &end);
        if (*end || !(o.least > 0) || o.least > 1000)
            return err_set(e, ERR_USAGE,
                           "--min-width must be a number of pixels such as 0.5, not `%s`",
                           c->o.min_width);
    }
    bool ok = flame_svg(&p->f, &o, &p->q.arena, &out, e);
    if (ok && !file_write(c->o.output ? c->o.output : "-", buf_view(&out), e)) {
        if (e->sys != EPIPE) cli_fail_err(c, c->o.output, e);
    }
    buf_free(&out);
    return ok;
}

static bool draw_terminal(picture *p, err *e)
{
    cli *c = p->q.c;
    size_t width = cli_width(c);
    flame_term_opts o = {.width = width == SIZE_MAX ? 80 : width, .term_color = cli_term_color(c)};
    return flame_term(&p->f, &o, &p->q.arena, &c->out, e);
}

/* Writes frames once and nodes as [parent, frame, self, total], so that deep trees do not nest. */
static void put_nodes(picture *p, json_out *o)
{
    const tree *t = &p->all;
    const frame_table *f = t->frames;
    json_put_key(o, STR("frames"));
    json_put_array(o);
    for (uint32_t i = 0; i < f->v.n; i++) {
        o->flat_at = o->depth + 1;
        json_put_object(o);
        frame_json(o, f, i);
        json_put_object_end(o);
    }
    json_put_array_end(o);
    json_put_key(o, STR("nodes"));
    json_put_array(o);
    for (size_t i = 0; i < t->n; i++) {
        o->flat_at = o->depth + 1;
        json_put_array(o);
        json_put_u64(o, t->parent[i]);
        if (i)
            json_put_u64(o, t->frame[i]);
        else
            json_put_null(o);
        json_put_i64(o, t->self[i]);
        json_put_i64(o, t->total[i]);
        json_put_array_end(o);
    }
    json_put_array_end(o);
}

static void put_json(picture *p)
{
    json_out o = {.b = &p->q.c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(&p->q, &o);
    put_nodes(p, &o);
    json_put_object_end(&o);
    buf_putc(&p->q.c->out, '\n');
}

static void put_head(picture *p)
{
    buf *b = &p->q.c->out;
    query_header(&p->q, b);
    if (!p->has_base) return;
    buf_z(b, "compared with ");
    text_clipped(b, str_of(input_name(p->base.path)), 60);
    buf_putc(b, '\n');
}

static bool draw(picture *p, flame_kind kind, err *e)
{
    if (kind == FLAME_AS_JSON) {
        tree_opts o = tree_options(p->q.c);
        if (!tree_of(&p->q.v, &o, &p->q.arena, &p->all, e)) return false;
        put_json(p);
        return true;
    }
    /* Must precede make_flame, which adds the other side to the view. */
    if (kind == FLAME_ON_TERMINAL) put_head(p);
    if (!make_flame(p, e)) return false;
    return kind == FLAME_AS_SVG ? draw_svg(p, e) : draw_terminal(p, e);
}

void flame_out(cli *c, flame_kind kind)
{
    picture p = {0};
    err e = {0};
    if (kind == FLAME_AS_JSON && c->o.diff) {
        cli_fail(c, EXIT_USAGE, "--json and --diff cannot be combined; use kiln diff --json");
        return;
    }
    if (c->o.diff && !query_open_input(&p.q, c, c->o.diff, &p.base)) return;
    p.has_base = c->o.diff != NULL;
    if (query_open(&p.q, c, c->args, c->n_args, BY_FUNCTION)) {
        if (!draw(&p, kind, &e)) query_fail(&p.q, &e);
        query_close(&p.q);
    }
    if (p.has_base) input_close(&p.base);
}
