/* `kiln series --heat`: draws the heat map as text, SVG and JSON.  The SVG contains a command line
 * that opens a selected range. */
#include "cli/heat_out.h"

#include "cli/flame_out.h"
#include "draw/heat.h"
#include "wire/json.h"
#include "base/ban.h"

bool picture_is_svg(const cli *c, err *e)
{
    if (str_ends(str_of(c->o.output), STR(".svg")) || (c->o.to && !strcmp(c->o.to, "svg")))
        return true;
    return err_set(e, ERR_USAGE, "%s: the name does not end in .svg; use --to svg", c->o.output);
}

bool picture_write(cli *c, const buf *picture, err *e)
{
    c->pages = false;
    return file_write(c->o.output, buf_view(picture), e);
}

static void put_json(query *q, const heat *h)
{
    json_out o = {.b = &q->c->out, .pretty = true};
    json_put_object(&o);
    query_header_json(q, &o);
    json_put_key(&o, STR("start_unix_nano"));
    json_put_u64(&o, h->start);
    json_put_key(&o, STR("row_nano"));
    json_put_u64(&o, h->row_ns);
    json_put_key(&o, STR("columns"));
    json_put_array(&o);
    for (uint32_t c = 0; c < h->columns; c++) {
        json_put_array_flat(&o);
        for (uint32_t r = 0; r < h->rows; r++) json_put_i64(&o, h->sum[(size_t)c * h->rows + r]);
        json_put_array_end(&o);
    }
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_putc(&q->c->out, '\n');
}

/* Appends the path quoted for a shell: 'it'\''s.otlp'. */
static void put_quoted(buf *b, const char *path)
{
    buf_putc(b, '\'');
    for (; *path; path++) {
        if (*path == '\'')
            buf_z(b, "'\\''");
        else
            buf_putc(b, *path);
    }
    buf_putc(b, '\'');
}

static void put_subject(const cli *c, buf *b)
{
    for (size_t i = 0; i < c->n_args; i++) {
        bool plain =
            strspn(c->args[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-/+,:@%") == strlen(c->args[i]);
        if (i) buf_putc(b, ' ');
        if (plain)
            buf_z(b, c->args[i]);
        else
            put_quoted(b, c->args[i]);
    }
}

static bool draw_svg(query *q, const heat *h, heat_opts *o, err *e)
{
    buf subject = {0}, out = {0};
    put_subject(q->c, &subject);
    o->subject = buf_view(&subject);
    o->width = q->c->o.width.n;
    bool ok = heat_svg(h, o, &q->arena, &out, e) && picture_write(q->c, &out, e);
    buf_free(&subject);
    buf_free(&out);
    return ok;
}

bool heat_out(query *q, err *e)
{
    cli *c = q->c;
    heat h;
    if (c->o.output && !picture_is_svg(c, e)) return false;
    if (!heat_of(&q->v, &(heat_range){0}, &q->arena, &h, e)) return false;
    if (c->o.json) {
        put_json(q, &h);
        return true;
    }
    if (!h.columns)
        return err_set(e, ERR_USAGE, "the samples have no timestamps, so there is no heat map");
    heat_opts o = {.title = input_title(c->args[0]),
                   .type = q->v.type,
                   .unit = q->v.unit,
                   .clock = query_clock(q, h.start)};
    if (c->o.output) return draw_svg(q, &h, &o, e);
    size_t width = cli_width(c);
    o.width = width == SIZE_MAX ? 80 : width;
    o.term_color = cli_term_color(c);
    query_header(q, &c->out);
    return heat_term(&h, &o, &q->arena, &c->out, e);
}
