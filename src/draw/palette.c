#include "draw/palette.h"

/* Light: L 0.845, 0.815, 0.785 at chroma 0.098; dark: L 0.50, 0.47, 0.44 at 0.092; 28 degrees apart. */
static const uint32_t boxes[PALETTE_HUES + 1][2][PALETTE_SHADES] = {
    {{0xfeb9a4, 0xfaad94, 0xf0a38b}, {0x8f4f3b, 0x864733, 0x7d3e2b}},
    {{0xfabf88, 0xefb57e, 0xe5ac75}, {0x875724, 0x7e4e1a, 0x75460f}},
    {{0xe5ca80, 0xdbc076, 0xd1b66d}, {0x786018, 0x6f580a, 0x664f00}},
    {{0xc6d58b, 0xbdcc82, 0xb3c278}, {0x5f6a27, 0x56611d, 0x4e5913}},
    {{0xa3dea6, 0x99d49c, 0x90ca93}, {0x3e7142, 0x35683a, 0x2c6032}},
    {{0x83e1c7, 0x79d7be, 0x6fceb4}, {0x0d745f, 0x056b57, 0x00614f}},
    {{0x77dfe7, 0x6cd6de, 0x62ccd4}, {0x057178, 0x00686e, 0x035e64}},
    {{0x87d8ff, 0x7ccff6, 0x72c5ec}, {0x176c8d, 0x056484, 0x005b79}},
    {{0xaecefe, 0x9ec5fe, 0x92bbf8}, {0x416497, 0x395b8e, 0x315385}},
    {{0xc7c5ff, 0xbdbafe, 0xb3b0f5}, {0x5f5b95, 0x57528c, 0x4f4a83}},
    {{0xe4b9f9, 0xdab0ef, 0xd0a6e5}, {0x765388, 0x6d4a7f, 0x654276}},
    {{0xf9b3de, 0xefa9d4, 0xe5a0cb}, {0x874d72, 0x7d4569, 0x743c61}},
    {{0xd9d5d0, 0xd0cdc8, 0xc8c5c0}, {0x505357, 0x494c50, 0x424549}},
};

static const uint32_t diff[2][2 * PALETTE_DIFF + 1] = {
    {0x54a3f0, 0x79b3ee, 0x9ac2ec, 0xbad0e8, 0xe1ddd8, 0xe7c4c1, 0xe9aca6, 0xe9938c, 0xe87972},
    {0x0271c2, 0x2668a4, 0x345e87, 0x3d536a, 0x4b4741, 0x694744, 0x834743, 0x9d4641, 0xb6423f},
};

static const uint32_t heat[2][PALETTE_HEAT] = {
    {0xfbf7e8, 0xf5ebd0, 0xf1dfb7, 0xefd29f, 0xedc487, 0xecb56f, 0xeba556, 0xeb943c, 0xea831d,
     0xe57200, 0xdd6402, 0xd55504, 0xcd4300, 0xc33510, 0xb32d20, 0xa42629},
    {0x2d2021, 0x3f2626, 0x522d2a, 0x65332b, 0x783a2a, 0x8b4126, 0x9e491d, 0xb15203, 0xbd6101,
     0xc97002, 0xd47f00, 0xdf8f01, 0xe99f08, 0xf3af0b, 0xfdbf07, 0xffd24c},
};

uint32_t palette_box(unsigned hue, unsigned shade, bool dark) { return boxes[hue][dark][shade]; }
uint32_t palette_diff(int step, bool dark) { return diff[dark][step + PALETTE_DIFF]; }
uint32_t palette_heat(unsigned level, bool dark) { return heat[dark][level]; }

static unsigned square(unsigned a, unsigned b)
{
    unsigned d = a > b ? a - b : b - a;
    return d * d;
}

static unsigned distance(uint32_t rgb, unsigned r, unsigned g, unsigned b)
{
    return square(rgb >> 16 & 255, r) + square(rgb >> 8 & 255, g) + square(rgb & 255, b);
}

/* xterm: 16 + 36 r + 6 g + b with six levels each, then 24 greys 8, 18, ... 238. */
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
