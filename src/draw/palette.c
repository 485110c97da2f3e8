/* Chooses colours by name, and the nearest colour that a terminal has.  The tables are generated
 * (tools/palette).  The hash is not that of base/hash.h, because the viewer computes it too. */
#include "draw/palette.h"

#include <math.h>
#include <stdbool.h>

/* FNV-1a with a final mix; ui/src/draw/palette.ts has the same function. */
static uint32_t name_hash(str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    h = (h ^ h >> 15) * 0x85ebca6bu;
    return h ^ h >> 13;
}

unsigned palette_hue(str group) { return group.n ? name_hash(group) % PALETTE_HUES : PALETTE_GREY; }

unsigned palette_shade(str function, unsigned *row)
{
    uint32_t h = name_hash(function);
    if (*row == PALETTE_GREY) *row = PALETTE_PALE + h % PALETTE_HUES / PALETTE_SHADES;
    return h % PALETTE_SHADES;
}

int palette_step(double after, double before, double after_size, double before_size)
{
    double d = after - before, sum = fabs(before) + fabs(after);
    if (sum <= 0) return 0;
    bool known = after_size > 0 && before_size > 0;
    if (known && d * d <= 9 * (after_size * fabs(after) + before_size * fabs(before))) return 0;
    double r = fabs(d) / sum;
    int step = r < 0.0476 ? 0 : r < 0.143 ? 1 : r < 0.2857 ? 2 : r < 0.6 ? 3 : PALETTE_DIFF;
    return d < 0 ? -step : step;
}

static unsigned square(unsigned a, unsigned b)
{
    unsigned d = a > b ? a - b : b - a;
    return d * d;
}

static unsigned distance(uint32_t rgb, unsigned r, unsigned g, unsigned b)
{
    return square(rgb >> 16 & 255, r) + square(rgb >> 8 & 255, g) + square(rgb & 255, b);
}

/* xterm's colours: 16 + 36 r + 6 g + b with six levels each, then 24 greys 8, 18, ... 238. */
static unsigned cube_level(unsigned v) { return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40; }

unsigned palette_256(uint32_t rgb)
{
    static const unsigned levels[] = {0, 95, 135, 175, 215, 255};
    unsigned r = cube_level(rgb >> 16 & 255), g = cube_level(rgb >> 8 & 255),
             b = cube_level(rgb & 255);
    unsigned mean = ((rgb >> 16 & 255) + (rgb >> 8 & 255) + (rgb & 255)) / 3;
    unsigned k = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    bool grey = distance(rgb, 8 + 10 * k, 8 + 10 * k, 8 + 10 * k) <
                distance(rgb, levels[r], levels[g], levels[b]);
    return grey ? 232 + k : 16 + 36 * r + 6 * g + b;
}
