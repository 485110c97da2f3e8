/* Errors, version, ledgers, and copying structs between the library and callers that were compiled
 * against another version. `size` states how long the caller's struct is. */
#include "api/internal.h"

#include "base/ban.h"
#include <inttypes.h>

/* A larger size means that the struct is not initialised. */
enum { STRUCT_MAX = 4096 };

const char *kiln_version(void) { return KILN_VERSION; }

/* ---- structs that begin with their size ---- */

static size_t size_of(const void *p)
{
    size_t n;
    memcpy(&n, p, sizeof n);
    return n >= sizeof n && n <= STRUCT_MAX ? n : 0;
}

static bool all_zero(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

static bool unknown(const char *what, err *e)
{
    return err_set(e, ERR_UNSUPPORTED, "%s has options that libkiln %s does not support", what,
                   KILN_VERSION);
}

bool api_take(void *to, size_t known, const void *from, const char *what, err *e)
{
    memset(to, 0, known);
    if (!from) return true;
    size_t n = size_of(from);
    if (!n) return err_set(e, ERR_USAGE, "the size of %s is not set", what);
    memcpy(to, from, n < known ? n : known);
    return n <= known || all_zero((const char *)from + known, n - known) || unknown(what, e);
}

bool api_unused(const void *reserved, size_t n, const char *what, err *e)
{
    return all_zero(reserved, n) || unknown(what, e);
}

bool api_give(void *out, const void *v, size_t known)
{
    size_t n = out ? size_of(out) : 0;
    if (!n) return false;
    size_t copied = n < known ? n : known;
    memcpy((char *)out + sizeof n, (const char *)v + sizeof n, copied - sizeof n);
    memset((char *)out + copied, 0, n - copied);
    return true;
}

/* ---- errors ---- */

bool api_result(bool ok, const err *from, kiln_error *to)
{
    if (!to) return ok;
    memset(to, 0, sizeof *to);
    to->offset = KILN_NO_OFFSET;
    if (ok) return true;
    bool failed = from->code != ERR_OK;
    to->code = failed && !err_exhausted(from) ? (kiln_code)from->code : KILN_LIMIT;
    to->sys = from->sys;
    to->offset = failed ? from->offset : KILN_NO_OFFSET;
    snprintf(to->path, sizeof to->path, "%s", from->path);
    snprintf(to->message, sizeof to->message, "%s", failed ? from->msg : "out of memory");
    return false;
}

const char *kiln_error_text(const kiln_error *e, char *out, size_t n)
{
    if (!out || !n) return "";
    out[0] = '\0';
    if (!e) return out;
    err own = {.code = (err_code)e->code, .sys = e->sys, .offset = e->offset};
    snprintf(own.path, sizeof own.path, "%s", e->path);
    snprintf(own.msg, sizeof own.msg, "%s", e->code == KILN_OK ? "no error" : e->message);
    return err_text(&own, out, n);
}

const char *kiln_code_name(kiln_code code)
{
    return (unsigned)code <= KILN_SYSTEM ? err_code_name((err_code)code) : "unknown";
}

/* ---- names in options ---- */

size_t api_budget(size_t max_memory)
{
    const uint64_t usual = (uint64_t)4 << 30;
    if (max_memory) return max_memory;
    return usual < SIZE_MAX ? (size_t)usual : SIZE_MAX / 2;
}

bool api_format(const char *name, const format **out, err *e)
{
    *out = name ? format_named(str_of(name)) : NULL;
    return *out || !name || err_set(e, ERR_USAGE, "unknown format %.60s", name);
}

bool api_layout(const char *name, layout *out, err *e)
{
    *out = name ? layout_from_name(str_of(name)) : LAYOUT_UNKNOWN;
    return *out != LAYOUT_UNKNOWN || !name || err_set(e, ERR_USAGE, "unknown layout %.60s", name);
}

const char *kiln_format_name(size_t i)
{
    size_t n;
    const format *const *all = formats(&n);
    return i < n ? all[i]->name : NULL;
}

/* ---- ledgers ---- */

kiln_ledger *kiln_ledger_new(void) { return calloc(1, sizeof(kiln_ledger)); }

void kiln_ledger_free(kiln_ledger *l) { free(l); }

bool kiln_loss_at(const kiln_ledger *l, size_t i, kiln_loss *out)
{
    if (!l || i >= l->l.n) return false;
    const loss *x = &l->l.v[i];
    kiln_loss v = {
        .kind = loss_name(x->concept),
        .what = loss_what(x->concept),
        .stage = loss_stage_name(x->stage),
        .carried_as = x->carried_as,
        .path = x->path,
        .value = x->value,
        .count = x->count,
    };
    return API_GIVE(out, &v);
}

bool kiln_ledger_lost(const kiln_ledger *l) { return l && ledger_lost(&l->l); }
