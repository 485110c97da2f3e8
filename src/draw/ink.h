/* draw/ink.h - colours on a terminal: 24 bits, the nearest of 256, or none.  Pure. */
#pragma once
#include "base/buf.h"

typedef enum ink {
    INK_NONE,
    INK_256,
    INK_RGB, /* 24 bits */
} ink;

void ink_front(buf *b, ink i, uint32_t rgb);
void ink_ground(buf *b, ink i, uint32_t rgb);
void ink_off(buf *b, ink i);
