/* sys/pager.h - shows long text on a terminal through the user's pager. */
#pragma once
#include "base/str.h"

/* Shows text through $PAGER, or less.  Unless $LESS is set, `less` quits when the text fits on the
 * screen and keeps colours.  Returns false, without showing anything, when the pager does not
 * exist, is "cat" or is empty. */
bool pager_show(str text);
