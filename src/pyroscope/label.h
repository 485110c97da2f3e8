/* pyroscope/label.h - names of labels: OTLP keys with dots, and the plain names of older clients.
 * Pure.
 *
 * A plain name consists of letters, digits and underscores, and does not begin with a digit.  Older
 * clients show only such names, so thread.name is listed as thread_name, unless the client declares
 * in its Accept header that it reads any UTF-8.  Requests may use both spellings. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* Returns whether `name` is plain; "" is not. */
bool pyro_label_is_plain(str name);

/* Sets *out to the plain spelling: each other character becomes one underscore, and a digit at the
 * start gets one in front.  A plain name stays a view.  ERR_MEMORY. */
NODISCARD bool pyro_label_plain(str name, arena *a, str *out, err *e);

/* Returns whether `written` is the key, or its plain spelling. */
bool pyro_label_same(str written, str key);

/* Returns the index of the key that a client's spelling means: the equal one, else the first with
 * that plain spelling; n when there is none. */
size_t pyro_label_find(str written, const str *keys, size_t n);

/* Returns whether an Accept header has the parameter allow-utf8-labelnames=true. */
bool pyro_label_utf8_accepted(str accept);

/* Returns whether lists of labels omit a key, because it describes a file or its conversion
 * (docs/attributes.md): pprof.profile.comment, kiln.document.name.  What threads did is listed:
 * kiln.wait.syscall, kiln.jfr.class.  Selectors may use every key. */
bool pyro_label_is_internal(str key);

/* Returns whether a name is one of Pyroscope's own, which are hidden from lists: __name__. */
static inline bool pyro_label_is_private(str name)
{
    return name.n > 4 && str_starts(name, STR("__")) && str_ends(name, STR("__"));
}
