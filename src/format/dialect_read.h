/* format/dialect_read.h - what the readers of the seed dialects share.
 *
 * They are one family with the readers of the released old layouts: tables without null entries inside
 * each Profile, fields in any order.  So they stand on the same small readers (wire/otlp_old_internal.h):
 * `old` is the message being read, `old_tables` the tables of one Profile.
 *
 *   collect   pieces of input      resolve   tables, by position      emit   a Profile a type */
#pragma once
#include "format/dialects.h"
#include "wire/otlp_old_internal.h"

/* Reads one message by `decode`; memory, ledger, error and model as a format's read() has them. */
NODISCARD bool dialect_read(str bytes, const read_opts *ro, arena *a, model *out, err *e,
                            bool (*decode)(old *o, pb_cur c, const void *ctx), const void *ctx);

/* ProfilesData: calls `each` for each entry of each scope with o->where set and a fresh o->tmp. */
NODISCARD bool dialect_read_envelope(old *o, pb_cur c,
                                     bool (*each)(old *o, pb_cur c, const void *ctx),
                                     const void *ctx);

/* What a profile knows beside its samples; the parts that all dialects have. */
typedef struct dialect_head {
    str id, payload, payload_format;
    uint64_t start, end;
    keyvalue_list attrs;
    uint32_t dropped_attributes_count;
} dialect_head;

/* Attributes of a new Profile, and how many types share one head. */
typedef struct dialect_type {
    uint32_t type, unit;               /* builder strings */
    uint64_t temporality;              /* 0: not said */
    uint64_t sample_rate, sample_size; /* 0: not said */
    const char *time_unit;             /* other than "ns": what timestamps were in; NULL */
} dialect_type;

/* How many attributes the sender left out of a list, as one more of its attributes. */
NODISCARD bool dialect_dropped(old *o, uint32_t count, const char *where, u32s *to);

/* A Profile in the builder with all that the head and the type say; samples come next.  nth of its
 * head: the first gets the original payload, the others an id of their own.  extra: attributes after the head's. */
NODISCARD bool dialect_emit_profile(old *o, const dialect_head *h, const dialect_type *t,
                                    size_t nth, const u32s *extra);

/* Index of a piece list as an error path does: "stacktraces[3]". */
NODISCARD bool dialect_links(old *o, old_tables *t, const char *name);

/* A mapping's build id as the attribute that carries it, and its symbol flags. */
NODISCARD bool dialect_build_id(old *o, str id, uint64_t kind, size_t position, u32s *attrs);
NODISCARD bool dialect_flags(old *o, const bool flags[4], size_t position, u32s *attrs);
NODISCARD bool dialect_frame_attrs(old *o, uint32_t type, bool folded, size_t position,
                                   u32s *attrs);

/* 0 without presence is mapping 0, or none: mapping 0 if that covers the address (section 1). */
typedef struct dialect_main {
    uint64_t start, limit;
} dialect_main;

NODISCARD bool dialect_mapping_ref(old *o, const old_tables *t, const dialect_main *m, uint64_t ref,
                                   uint64_t address, const uint8_t *at, uint32_t *out);

/* Times by magnitude (section 6): below 10^11 s, 10^14 ms, 10^17 us, else ns. */
const char *time_unit_of(uint64_t time, uint64_t *ns);
/* ns in one unit of that name; 0: no such unit. */
uint64_t time_unit_ns(str name);

/* String reference of a field; NONE-safe. */
static inline bool dialect_string(old *o, old_tables *t, pb_cur *c, const pb_field *f,
                                  const char *name, uint32_t *out)
{
    uint64_t v;
    return old_u64(c, f, name, &v) && old_string(o, t, v, name, f->at, out);
}

static inline bool dialect_list_wire(pb_cur *c, const pb_field *f, const char *name)
{
    return f->wire == 0 || pb_expect(c, f, 2, name);
}
