/* sys/term.h - the properties of the terminal behind a descriptor. */
#pragma once
#include "base/compiler.h"

typedef struct term {
    bool tty;
    bool color; /* it is a terminal, not a dumb one, and NO_COLOR is not set (no-color.org) */
    /* supported colours according to TERM and COLORTERM, also behind a pipe: 0, 256, 1 << 24 */
    unsigned colors;
    bool moves;     /* it is a terminal, not a dumb one: it can erase a line and run a pager */
    bool utf8;      /* according to the locale: LC_ALL, LC_CTYPE, LANG */
    unsigned width; /* columns; 80 if it is not a terminal */
} term;

term term_of(int fd);
