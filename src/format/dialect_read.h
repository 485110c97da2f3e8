/* format/dialect_read.h - shared parts of the readers of the drafts (docs/spec/layouts.md,
 * "Drafts").
 *
 * The drafts resemble the released old layouts: tables without null entries inside each Profile,
 * fields in any order. Their readers therefore use wire/otlp_old_internal.h: `old` is the state of
 * the message being read, `old_tables` are the tables of one Profile.
 *
 *   collect   pieces of input      resolve   tables, by position      emit   a Profile per type */
#pragma once
#include "format/dialects.h"
#include "wire/otlp_old_internal.h"

/* Reads one message with `decode`; the other parameters are those of a format's read(). */
NODISCARD bool dialect_read(str bytes, const read_opts *ro, arena *a, model *out, err *e,
                            bool (*decode)(old *o, pb_cur c, const void *ctx), const void *ctx);

/* Reads a ProfilesData. Calls `each` for each profile entry, with o->where set and o->tmp empty. */
NODISCARD bool dialect_read_envelope(old *o, pb_cur c,
                                     bool (*each)(old *o, pb_cur c, const void *ctx),
                                     const void *ctx);

/* The fields of a profile, besides its samples, that all dialects have. */
typedef struct dialect_head {
    str id, payload, payload_format;
    uint64_t start, end;
    keyvalue_list attrs;
    uint32_t dropped_attributes_count;
} dialect_head;

/* A sample type. */
typedef struct dialect_type {
    uint32_t type, unit;               /* builder strings */
    uint64_t temporality;              /* 0: not known */
    uint64_t sample_rate, sample_size; /* 0: not known */
    const char *time_unit;             /* unit of the timestamps of the input; NULL: ns */
} dialect_type;

/* Adds an attribute with the number of attributes that the sender dropped from a list. */
NODISCARD bool dialect_dropped(old *o, uint32_t count, const char *where, u32s *to);

/* Adds a Profile with the data of h and t to the builder. The caller then adds its samples. nth:
 * its position among the Profiles with this h; the first gets the original payload, the others
 * derived ids. extra: attributes after those of h. */
NODISCARD bool dialect_emit_profile(old *o, const dialect_head *h, const dialect_type *t,
                                    size_t nth, const u32s *extra);

/* Stack messages, which list locations in field 1, and the names of table and field in errors. */
typedef struct dialect_stacks {
    const char *table, *field; /* "stacktraces", "location_indices" */
    bool root_first;
} dialect_stacks;

/* Appends the builder index of each stack in `from` to *to. */
NODISCARD bool dialect_build_stacks(old *o, old_tables *t, const dialect_stacks *s,
                                    const pieces *from, u32s *to);
void dialect_reverse(u32s *stack); /* root first to leaf first */

/* Fields 1 to 5 of the profile containers of all drafts, which fill a dialect_head. */
#define DIALECT_HEAD(type)                                                                         \
    [1] = OLD_FIELD(ID16, type, head.id, "profile_id"),                                            \
    [2] = OLD_FIELD(FIXED64, type, head.start, "start_time_unix_nano"),                            \
    [3] = OLD_FIELD(FIXED64, type, head.end, "end_time_unix_nano"),                                \
    [4] = OLD_FIELD(ATTRS, type, head.attrs, "attributes"),                                        \
    [5] = OLD_FIELD(U32, type, head.dropped_attributes_count, "dropped_attributes_count")

/* Infers the unit of a time: s below 10^11, ms below 10^14, us below 10^17, else ns. */
const char *time_unit_of(uint64_t time, uint64_t *ns);
/* Returns the ns in one unit of that name; 0 when the name is unknown. */
uint64_t time_unit_ns(str name);
