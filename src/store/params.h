/* store/params.h - parses the target of a request: a path and query parameters.  The command line
 * uses the same parameters for stores and servers.  Pure. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct param {
    str key, value; /* decoded */
} param;

typedef struct params {
    str path; /* decoded, begins with a slash, has no empty, "." or ".." parts */
    VEC(param) v;
} params;

enum { PARAMS_MAX = 64 };

/* Parses "/api/v1/tree?query=cpu%7B%7D&start=now-1h" into memory of the arena.  ERR_MALFORMED: an
 * invalid escape, a path with empty, `.` or `..` components, invalid UTF-8; ERR_USAGE: more than
 * PARAMS_MAX parameters. */
NODISCARD bool params_parse(str target, arena *a, params *out, err *e);

str params_get(const params *p, const char *key); /* the first value; {NULL, 0}: absent */

/* Sets or replaces a parameter, for clients. Returns false when out of memory. */
NODISCARD bool params_set(params *p, const char *key, str value, arena *a);
void params_write(const params *p, buf *out); /* "?query=cpu%7B%7D&start=now-1h", or "" */

/* The functions below leave *out unchanged when the parameter is absent. The message of ERR_USAGE
 * names the parameter. params_number accepts [0, max]. */
NODISCARD bool params_number(const params *p, const char *key, uint64_t max, uint64_t *out, err *e);
NODISCARD bool params_flag(const params *p, const char *key, bool *out,
                           err *e); /* 1, true, 0, false */

/* Reads a time as in time_parse_at, or "0" for the beginning, as Unix ns. */
NODISCARD bool params_time(const params *p, const char *key, uint64_t now, uint64_t *out, err *e);

/* Reads a duration such as "15s", "1h" or "250ms", in ns. */
NODISCARD bool params_duration(const params *p, const char *key, uint64_t *out, err *e);

/* Reads a decimal number that is at least 0. */
NODISCARD bool params_real(const params *p, const char *key, double *out, err *e);
