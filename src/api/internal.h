/* api/internal.h - code that the public functions of kiln/kiln.h share: handles, versioned structs,
 * conversion of errors and values. */
#pragma once
#include "kiln/kiln.h"

#include "base/err.h"
#include "format/format.h"
#include "model/ledger.h"
#include "model/model.h"

/* Immutable: any number of threads may read it. */
struct kiln_profiles {
    arena in; /* the copy of the input, if any */
    arena a;  /* everything else */
    model m;
    document doc; /* zero for built or merged profiles */
};

struct kiln_ledger {
    ledger l;
};

/* ---- structs that begin with their size ---- */

/* Copies the caller's struct, of any version, to *to, which has `known` bytes.  NULL gives the
 * defaults.  Fails with ERR_USAGE when its size is not set, and with ERR_UNSUPPORTED when it sets
 * fields that this version does not have. */
NODISCARD bool api_take(void *to, size_t known, const void *from, const char *what, err *e);
#define API_TAKE(to, from, what, e) api_take((to), sizeof *(to), (from), (what), (e))

/* Rejects reserved fields that are not zero. */
NODISCARD bool api_unused(const void *reserved, size_t n, const char *what, err *e);
#define API_UNUSED(o, what, e) api_unused((o)->reserved, sizeof(o)->reserved, (what), (e))

/* Fills the caller's struct up to its size.  Returns false if its size is not set. */
NODISCARD bool api_give(void *out, const void *v, size_t known);
#define API_GIVE(out, v) api_give((out), (v), sizeof *(v))

/* ---- errors ---- */

/* Copies the error to the caller's struct, which may be NULL, and returns `ok`. */
bool api_result(bool ok, const err *from, kiln_error *to);

static inline bool api_null(const char *what, err *e) /* ERR_USAGE; always false */
{
    err_set(e, ERR_USAGE, "%s is NULL", what);
    return false;
}

/* ---- names in options ---- */

size_t api_budget(size_t max_memory); /* 0 becomes the default of kiln.h */
NODISCARD bool api_format(const char *name, const format **out,
                          err *e); /* a NULL name gives a NULL format */
NODISCARD bool api_layout(const char *name, layout *out, err *e);

static inline ledger *api_ledger(kiln_ledger *l) { return l ? &l->l : NULL; }

/* ---- handles ---- */

NODISCARD kiln_profiles *api_profiles_new(size_t max_memory, uint64_t seed, err *e);

/* ---- values: the public types have the layout of the model's types ---- */

static inline kiln_str api_str(str s) { return (kiln_str){s.p, s.n}; }
static inline str text(kiln_str s) { return (str){s.p, s.n}; }

static inline const kiln_member *view_members(const keyvalues *k)
{
    return (const kiln_member *)(const void *)k->v;
}

#define SAME_PLACE(pub, pub_field, own, own_field)                                                 \
    _Static_assert(offsetof(pub, pub_field) == offsetof(own, own_field), #pub "." #pub_field)
_Static_assert(sizeof(kiln_value) == sizeof(any), "kiln_value is any");
SAME_PLACE(kiln_value, kind, any, kind);
SAME_PLACE(kiln_value, n, any, n);
SAME_PLACE(kiln_value, as, any, s);
_Static_assert(sizeof(kiln_member) == sizeof(keyvalue), "kiln_member is keyvalue");
SAME_PLACE(kiln_member, key, keyvalue, key);
SAME_PLACE(kiln_member, reserved, keyvalue, key_ref);
SAME_PLACE(kiln_member, value, keyvalue, value);
_Static_assert((int)KILN_KIND_EMPTY == ANY_EMPTY && (int)KILN_KIND_STRING == ANY_STRING &&
                   (int)KILN_KIND_BOOL == ANY_BOOL && (int)KILN_KIND_INT == ANY_INT &&
                   (int)KILN_KIND_DOUBLE == ANY_DOUBLE && (int)KILN_KIND_ARRAY == ANY_ARRAY &&
                   (int)KILN_KIND_MAP == ANY_KVLIST && (int)KILN_KIND_BYTES == ANY_BYTES,
               "kiln_kind is any_kind");
_Static_assert((int)KILN_OK == ERR_OK && (int)KILN_MALFORMED == ERR_MALFORMED &&
                   (int)KILN_LIMIT == ERR_LIMIT && (int)KILN_MISMATCH == ERR_MISMATCH &&
                   (int)KILN_UNSUPPORTED == ERR_UNSUPPORTED && (int)KILN_USAGE == ERR_USAGE &&
                   (int)KILN_SYSTEM == ERR_SYS,
               "kiln_code is err_code");
_Static_assert(KILN_NO_OFFSET == NO_OFFSET, "no offset");
