/* Writes colours of a terminal as escape sequences. */
#include "draw/term_color.h"

#include "draw/palette.h"
#include "base/ban.h"

/* SGR 38 and 48: `;5;n` selects one of 256 colours, `;2;r;g;b` a direct colour (ISO 8613-6, as
 * in xterm). */
static void put(buf *b, term_color i, unsigned which, uint32_t rgb)
{
    if (i == TERM_COLOR_256)
        buf_printf(b, "\033[%u;5;%um", which, palette_256(rgb));
    else if (i == TERM_COLOR_RGB)
        buf_printf(b, "\033[%u;2;%u;%u;%um", which, rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255);
}

void term_color_front(buf *b, term_color i, uint32_t rgb) { put(b, i, 38, rgb); }
void term_color_ground(buf *b, term_color i, uint32_t rgb) { put(b, i, 48, rgb); }

void term_color_off(buf *b, term_color i)
{
    if (i != TERM_COLOR_NONE) buf_z(b, "\033[0m");
}
