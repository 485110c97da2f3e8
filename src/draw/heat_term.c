/* Writes a heat map to a terminal. With colour, one character shows two rows: the upper half in
 * the foreground colour, the lower half in the background colour. */
#include "draw/heat.h"

#include "draw/human.h"
#include "draw/palette.h"
#include "draw/text.h"
#include "base/ban.h"

enum { LEFT = 7, WIDEST = 3 }; /* columns of the labels; most columns of a second */

typedef struct drawing {
    const heat *h;
    heat_grid g;
    term_color term_color;
    size_t wide; /* columns of a cell */
    buf *b;
} drawing;

static unsigned level_at(const drawing *d, uint32_t column, uint32_t row)
{
    return row < d->g.rows ? heat_level(&d->g, d->g.sum[(size_t)column * d->g.rows + row]) : 0;
}

/* Writes a label such as "500 ms" at every fifth line, and at the first and last. */
static void put_label(const drawing *d, uint32_t at_line, uint32_t row)
{
    char text[HUMAN_MAX] = "";
    if (at_line % 5 == 0)
        snprintf(text, sizeof text, "%u ms", (unsigned)(row * d->h->row_ns / 1000000));
    buf_printf(d->b, "%*s ", LEFT - 1, text);
}

/* Writes two rows of the map as the halves of a character: the upper row is the foreground, the
 * lower one the background. */
static void put_halves(const drawing *d, unsigned upper, unsigned lower)
{
    if (upper) term_color_front(d->b, d->term_color, palette_heat(upper, true));
    if (upper && lower) term_color_ground(d->b, d->term_color, palette_heat(lower, true));
    if (!upper && lower) term_color_front(d->b, d->term_color, palette_heat(lower, true));
    text_repeat(d->b, upper ? "▀" : lower ? "▄" : " ", d->wide);
    if (upper || lower) term_color_off(d->b, d->term_color);
}

static void put_shade(const drawing *d, unsigned upper, unsigned lower)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    unsigned level = upper > lower ? upper : lower;
    text_repeat(d->b, shades[level ? 1 + (level - 1) * 4 / (PALETTE_HEAT - 1) : 0], d->wide);
}

static void put_line(const drawing *d, uint32_t at_line)
{
    uint32_t row = at_line * 2;
    put_label(d, at_line, row);
    for (uint32_t c = 0; c < d->g.columns; c++) {
        unsigned lower = level_at(d, c, row), upper = level_at(d, c, row + 1);
        if (d->term_color == TERM_COLOR_NONE)
            put_shade(d, upper, lower);
        else
            put_halves(d, upper, lower);
    }
    while (d->term_color == TERM_COLOR_NONE && d->b->n && d->b->p[d->b->n - 1] == ' ') d->b->n--;
    buf_putc(d->b, '\n');
}

static void put_seconds(const drawing *d)
{
    uint64_t tick = heat_tick(&d->g, 8.0 / (double)d->wide);
    size_t all = d->g.columns * d->wide, used = 0;
    text_repeat(d->b, " ", LEFT);
    for (uint32_t c = 0; c < d->g.columns; c++) {
        char text[24];
        uint64_t s = (uint64_t)c * d->g.per;
        if (s % tick) continue;
        size_t n = (size_t)snprintf(text, sizeof text, "%llu s", (unsigned long long)s);
        if (c && c * d->wide + n > all) break;
        text_repeat(d->b, " ", c * d->wide - used);
        buf_z(d->b, text);
        used = c * d->wide + n;
    }
    buf_putc(d->b, '\n');
}

static void put_key(const drawing *d, const heat_opts *o)
{
    char most[HUMAN_MAX], begin[HUMAN_MAX];
    text_repeat(d->b, " ", LEFT);
    if (d->term_color == TERM_COLOR_NONE) {
        buf_z(d->b, "░▒▓█");
    } else {
        drawing key = *d;
        key.wide = 1;
        for (unsigned k = 1; k < PALETTE_HEAT; k++) put_halves(&key, k, k);
    }
    buf_printf(d->b, " up to %s per cell; from %s", human_value(d->g.max, o->unit, most),
               human_moment(&o->clock, d->h->start, begin));
    if (d->g.per > 1) buf_printf(d->b, "; a column is %u s", d->g.per);
    buf_putc(d->b, '\n');
}

bool heat_term(const heat *h, const heat_opts *o, arena *a, buf *out, err *e)
{
    drawing d = {.h = h, .term_color = o->term_color, .wide = 1, .b = out};
    size_t width = o->width ? o->width : 80, room = width > LEFT + 10 ? width - LEFT : 10;
    if (!heat_grid_of(h, room, a, &d.g, e)) return false;
    while (d.wide < WIDEST && d.g.columns * (d.wide + 1) <= room) d.wide++;
    for (uint32_t at_line = (d.g.rows + 1) / 2; at_line--;) put_line(&d, at_line);
    put_seconds(&d);
    put_key(&d, o);
    return out->failed ? err_memory(e) : true;
}
