#include "draw/ink.h"

#include "draw/palette.h"
#include "base/ban.h"

/* SGR 38 and 48: `;5;n` is the palette of 256, `;2;r;g;b` is direct (ISO 8613-6, as xterm has it). */
static void put(buf *b, ink i, unsigned which, uint32_t rgb)
{
    if (i == INK_256)
        buf_printf(b, "\033[%u;5;%um", which, palette_256(rgb));
    else if (i == INK_RGB)
        buf_printf(b, "\033[%u;2;%u;%u;%um", which, rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255);
}

void ink_front(buf *b, ink i, uint32_t rgb) { put(b, i, 38, rgb); }
void ink_ground(buf *b, ink i, uint32_t rgb) { put(b, i, 48, rgb); }

void ink_off(buf *b, ink i)
{
    if (i != INK_NONE) buf_z(b, "\033[0m");
}
