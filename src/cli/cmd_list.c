/* `kiln list PATTERN`: prints source code with the values of each line. Lines without values are
 * shown only near lines with values. */
#include "cli/query.h"
#include "cli/source.h"
#include "draw/text.h"
#include "query/listing.h"
#include "wire/json.h"

#include "base/ban.h"
#include <inttypes.h>

enum {
    AROUND = 3, /* lines of context before and after a line with values */
    TAB = 8,
    BEFORE_TEXT = 33,
};

/* ---- text ---- */

/* Prints a source line with tabs expanded, clipped to `width`. */
static void put_source(buf *b, str text, size_t width)
{
    buf wide = {0};
    size_t column = 0;
    for (size_t i = 0; i < text.n && column < width; i++) {
        size_t n = text.p[i] == '\t' ? TAB - column % TAB : 1;
        if (text.p[i] == '\t')
            buf_printf(&wide, "%*s", (int)n, "");
        else
            buf_putc(&wide, text.p[i]);
        column += n;
    }
    text_clipped(b, buf_view(&wide), width);
    buf_free(&wide);
}

static void put_line(query *q, const listed_line *l, int64_t n, str text)
{
    buf *b = &q->c->out;
    char flat_[HUMAN_MAX], cum[HUMAN_MAX];
    size_t width = cli_width(q->c);
    buf_printf(b, "%11s %11s %6" PRId64 "  ", l && l->flat ? query_value(q, l->flat, flat_) : ".",
               l && l->cum ? query_value(q, l->cum, cum) : ".", n);
    put_source(b, text, width == SIZE_MAX ? SIZE_MAX : width - BEFORE_TEXT);
    buf_putc(b, '\n');
}

/* Prints lines with values and their context, and `...` where lines are omitted. */
static void put_lines(query *q, const listing *all, const listed *f, const source_text *s)
{
    source_at at = {0};
    int64_t done = 0;
    for (size_t i = 0; i < f->n; i++) {
        const listed_line *l = &all->lines.v[f->first + i];
        int64_t last = l->line + AROUND, next = i + 1 < f->n ? l[1].line : INT64_MAX;
        int64_t n = l->line - AROUND > done ? l->line - AROUND : done + 1;
        if (n < 1) n = 1;
        if (n > done + 1 && done) buf_z(&q->c->out, "                            ...\n");
        if (last >= next) last = next - 1;
        for (; n <= last; n++) {
            str text = source_line(s, &at, n);
            if (!text.p && n > l->line) break;
            put_line(q, n == l->line ? l : NULL, n,
                     text.p ? text : STR("(past the end of the file)"));
            done = n;
        }
    }
}

/* ---- one function ---- */

static void put_text(query *q, const listing *all, const listed *f)
{
    buf *b = &q->c->out;
    const frame_table *t = q->v.frames;
    char v1[HUMAN_MAX], v2[HUMAN_MAX], p1[HUMAN_MAX];
    buf_printf(b, "\n%s", paint_on(q->c->term.color, PAINT_BOLD));
    text_clipped(b, frame_text(t, f->name), SIZE_MAX);
    buf_printf(b, "%s in ", paint_on(q->c->term.color, PAINT_OFF));
    text_clipped(b, f->file ? frame_text(t, f->file) : STR("unknown file"), SIZE_MAX);
    buf_printf(b, "\n%11s %11s (flat, cum), %s of the total\n", query_value(q, f->flat, v1),
               query_value(q, f->cum, v2), percent_text(f->cum, q->v.total, p1) + strspn(p1, " "));
    source_text s;
    bool found = source_find(frame_text(t, f->file), q->c->o.source_path, q->c->o.trim_path, &s);
    if (found) {
        put_lines(q, all, f, &s);
        source_text_close(&s);
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        const listed_line *l = &all->lines.v[f->first + i];
        put_line(q, l, l->line, i ? STR("") : STR("(source not found: --source-path)"));
    }
}

static void put_json(query *q, json_out *o, const listing *all, const listed *f)
{
    const frame_table *t = q->v.frames;
    source_text s;
    source_at at = {0};
    bool found = source_find(frame_text(t, f->file), q->c->o.source_path, q->c->o.trim_path, &s);
    json_put_object(o);
    json_put_key(o, STR("name"));
    json_put_str(o, frame_text(t, f->name));
    json_put_key(o, STR("file"));
    json_put_str(o, frame_text(t, f->file));
    json_put_key(o, STR("source"));
    if (found)
        input_path_json(o, s.path);
    else
        json_put_null(o);
    json_put_key(o, STR("flat"));
    json_put_i64(o, f->flat);
    json_put_key(o, STR("cum"));
    json_put_i64(o, f->cum);
    json_put_key(o, STR("lines"));
    json_put_array(o);
    for (size_t i = 0; i < f->n; i++) {
        const listed_line *l = &all->lines.v[f->first + i];
        o->flat_at = o->depth + 1;
        json_put_object(o);
        json_put_key(o, STR("line"));
        json_put_i64(o, l->line);
        json_put_key(o, STR("flat"));
        json_put_i64(o, l->flat);
        json_put_key(o, STR("cum"));
        json_put_i64(o, l->cum);
        if (found) {
            json_put_key(o, STR("text"));
            str text = source_line(&s, &at, l->line);
            buf clean = {0};
            text_clipped(&clean, text, SIZE_MAX);
            json_put_str(o, clean.n ? buf_view(&clean) : STR(""));
            buf_free(&clean);
        }
        json_put_object_end(o);
    }
    json_put_array_end(o);
    json_put_object_end(o);
    if (found) source_text_close(&s);
}

/* ---- all functions ---- */

static void put_all(query *q, const listing *l)
{
    buf *b = &q->c->out;
    json_out o = {.b = b, .pretty = true};
    if (!q->c->o.json) {
        query_header(q, b);
        for (size_t i = 0; i < l->v.n; i++) put_text(q, l, &l->v.v[i]);
        return;
    }
    json_put_object(&o);
    query_header_json(q, &o);
    json_put_key(&o, STR("functions"));
    json_put_array(&o);
    for (size_t i = 0; i < l->v.n; i++) put_json(q, &o, l, &l->v.v[i]);
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(b, '\n');
}

exit_code cmd_list(cli *c)
{
    query q = {0};
    err e = {0};
    listing l;
    pattern *p = NULL;
    str text = str_of(c->args[0]);
    if (!query_open(&q, c, c->args + 1, c->n_args - 1, BY_LINE)) return c->worst;
    bool ok = pattern_new(text, q.o.literal, "list", &q.arena, &p, &e) &&
              listing_of(&q.v, p, &q.arena, &l, &e);
    pattern_free(p);
    if (ok && !l.v.n)
        ok = err_set(&e, ERR_USAGE, "no function matches `%.*s`", text.n > 80 ? 80 : (int)text.n,
                     text.p);
    if (!ok)
        query_fail(&q, &e);
    else
        put_all(&q, &l);
    query_close(&q);
    return c->worst;
}
