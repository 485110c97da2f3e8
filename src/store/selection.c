/* Builds a store selector from request parameters. */
#include "store/selection.h"

#include "base/ban.h"
#include <string.h>

bool selection_has(str key)
{
    static const char *const keys[] = {"query",    "start",   "end",
                                       "trace_id", "span_id", "profile_id"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_eq(key, str_of(keys[i]))) return true;
    return false;
}

static bool take_id(const params *p, const char *key, size_t n, arena *a, const uint8_t **out,
                    err *e)
{
    str text = params_get(p, key);
    const uint8_t *own = *out;
    if (!text.p) return true;
    if (!store_id_parse(text, n, a, out, e)) return err_in(e, "%s", key);
    return !own || memcmp(own, *out, n) == 0 ||
           err_set(e, ERR_USAGE, "%s and the id in `query` differ", key);
}

bool selection_of(const params *p, uint64_t now, arena *a, store_selector *out, err *e)
{
    str query = params_get(p, "query");
    *out = (store_selector){0};
    if (query.n && !store_selector_parse(query, a, out, e)) return err_in(e, "query");
    if (!take_id(p, "trace_id", 16, a, &out->trace_id, e) ||
        !take_id(p, "span_id", 8, a, &out->span_id, e) ||
        !take_id(p, "profile_id", 16, a, &out->profile_id, e) ||
        !params_time(p, "start", now, &out->start, e) || !params_time(p, "end", now, &out->end, e))
        return false;
    if (params_get(p, "end").p && out->start >= out->end)
        return err_set(e, ERR_USAGE, "end must be after start");
    return true;
}
