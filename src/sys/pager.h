/* sys/pager.h - long text on a terminal, through the program that people chose for it. */
#pragma once
#include "base/str.h"

/* Shows text through $PAGER, otherwise less; `less` is told (unless $LESS says otherwise) to quit when it
 * all fits on the screen and to leave colours alone.  false: there is no such program, or it is "cat" or
 * empty; nothing was shown. */
bool pager_show(str text);
