/* server/params.h - the target of a request taken apart: a path, and what stands behind the question mark.  Pure. */
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

/* "/api/v1/tree?query=cpu%7B%7D&start=now-1h".  Memory is the arena's.  ERR_MALFORMED: an escape that is none, a path that climbs,
 * bytes that are no UTF-8; ERR_USAGE: more than PARAMS_MAX. */
NODISCARD bool params_parse(str target, arena *a, params *out, err *e);

str params_get(const params *p, const char *key); /* the first; {NULL, 0}: not given */

/* For those who ask.  In place of one that is there; false: out of memory. */
NODISCARD bool params_set(params *p, const char *key, str value, arena *a);
void params_write(const params *p, buf *out); /* "?query=cpu%7B%7D&start=now-1h", or nothing */

/* A number in [0, max]; *out stays as it is when it is not given.  ERR_USAGE names the parameter. */
NODISCARD bool params_number(const params *p, const char *key, uint64_t max, uint64_t *out, err *e);
NODISCARD bool params_flag(const params *p, const char *key, bool *out,
                           err *e); /* 1, true, 0, false */

/* Unix ns: as time_parse_at has it, or "0": the beginning.  *out stays as it is when it is not given.  ERR_USAGE. */
NODISCARD bool params_time(const params *p, const char *key, uint64_t now, uint64_t *out, err *e);

/* ns: "15s", "1h", "250ms"; ERR_USAGE. */
NODISCARD bool params_duration(const params *p, const char *key, uint64_t *out, err *e);

/* A number with a point, at least 0. */
NODISCARD bool params_real(const params *p, const char *key, double *out, err *e);
