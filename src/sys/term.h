/* sys/term.h - what the other end of a descriptor looks like. */
#pragma once
#include "base/compiler.h"

typedef struct term {
    bool tty;
    bool color; /* a terminal that is not dumb, and NO_COLOR is not set (no-color.org) */
    unsigned
        colors; /* it can show, as TERM and COLORTERM say, also behind a pipe: 0, 256, 1 << 24 */
    bool moves; /* a terminal that is not dumb: it can take a line back, and run a pager */
    bool utf8;  /* the locale says so: LC_ALL, LC_CTYPE, LANG */
    unsigned width; /* columns; 80 when it is no terminal */
} term;

term term_of(int fd);
