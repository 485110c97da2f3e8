/* tests/support/batch.h - an OTLP message of layout 1.10 with three profiles, in which a test can break one thing.
 *
 *   string_table    "" cpu ns good other
 *   function_table  {} {good} {other}          location_table  {} {good} {other}          stack_table  {} {good} {other}
 *   resource A: scope: profiles 0 (good), 1 (other)        resource B: scope: profile 2 (good) */
#pragma once
#include "base/buf.h"
#include "wire/pb.h"

typedef struct batch_opts {
    str other;          /* string_table[4]; empty: "other" */
    uint64_t name;      /* function 2: name_strindex; 0: 4 */
    uint64_t stack[3];  /* stack of each profile's sample; 0: 1, 2 and 1 */
    uint64_t attribute; /* attribute of profile 1's sample; 0: none */
    str id;             /* profile_id of profile 1 */
    str resource;       /* service.name of resource B; empty: "b" */
    str scope;          /* name of its scope; empty: "scope" */
    str zero;           /* string_table[0] */
    unsigned depth;     /* nesting of the value of resource B's attribute */
    bool unused;        /* an entry of function_table that nothing refers to is broken */
} batch_opts;

static inline void batch_put(buf *to, uint32_t number, buf *inner)
{
    pb_put_bytes(to, number, buf_view(inner));
    buf_free(inner);
}

static inline void batch_entry(buf *dictionary, uint32_t table, uint32_t field, uint64_t index)
{
    buf entry = {0};
    if (index) pb_put_uint(&entry, field, index);
    batch_put(dictionary, table, &entry);
}

static inline void batch_dictionary(buf *out, const batch_opts *o)
{
    buf d = {0};
    pb_put_bytes(&d, 5, o->zero);
    pb_put_bytes(&d, 5, STR("cpu")), pb_put_bytes(&d, 5, STR("ns"));
    pb_put_bytes(&d, 5, STR("good"));
    pb_put_bytes(&d, 5, o->other.n ? o->other : STR("other"));
    uint64_t names[] = {0, 3, o->name ? o->name : 4};
    for (size_t i = 0; i < 3; i++) {
        batch_entry(&d, 3, 1, names[i]); /* Function.name_strindex */
        buf row = {0}, place = {0};
        if (i) pb_put_uint(&row, 1, i), batch_put(&place, 3, &row);
        batch_put(&d, 2, &place); /* Location.lines */
        batch_entry(&d, 7, 1, i); /* Stack.location_indices */
    }
    if (o->unused) batch_entry(&d, 3, 1, 777);
    batch_put(out, 2, &d);
}

static inline void batch_profile(buf *out, const batch_opts *o, unsigned i)
{
    buf p = {0}, type = {0}, one = {0};
    uint64_t usual[] = {1, 2, 1};
    pb_put_uint(&type, 1, 1), pb_put_uint(&type, 2, 2);
    batch_put(&p, 1, &type);
    pb_put_uint(&one, 1, o->stack[i] ? o->stack[i] : usual[i]);
    if (i == 1 && o->attribute) pb_put_uint(&one, 2, o->attribute);
    pb_put_uint(&one, 4, 10 + i); /* values */
    batch_put(&p, 2, &one);
    pb_put_fixed64(&p, 3, UINT64_C(1700000000000000000) + i);
    if (i == 1 && o->id.n) pb_put_bytes(&p, 7, o->id);
    batch_put(out, 2, &p);
}

static inline void batch_resource(buf *out, const batch_opts *o, bool second)
{
    buf r = {0}, kv = {0}, v = {0}, res = {0}, sc = {0}, name = {0};
    str service = !second ? STR("a") : o->resource.n ? o->resource : STR("b");
    pb_put_bytes(&v, 1, service);
    for (unsigned i = 0; second && i < o->depth; i++) { /* AnyValue.array_value.values */
        buf list = {0}, outer = {0};
        batch_put(&list, 1, &v);
        batch_put(&outer, 5, &list);
        v = outer;
    }
    pb_put_bytes(&kv, 1, STR("service.name"));
    batch_put(&kv, 2, &v);
    batch_put(&res, 1, &kv);
    batch_put(&r, 1, &res);
    pb_put_bytes(&name, 1, second && o->scope.n ? o->scope : STR("scope"));
    batch_put(&sc, 1, &name);
    for (unsigned i = second ? 2 : 0; i < (second ? 3 : 2); i++) batch_profile(&sc, o, i);
    batch_put(&r, 2, &sc);
    batch_put(out, 1, &r);
}

static inline void batch_message(buf *out, const batch_opts *o)
{
    batch_resource(out, o, false);
    batch_resource(out, o, true);
    batch_dictionary(out, o);
}
