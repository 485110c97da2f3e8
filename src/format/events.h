/* format/events.h - dialect C, the proposal of timestamped events, and how it maps to the model.
 *
 *   EventType   becomes a Profile of the model, in order
 *   Event       becomes a sample: its size is the value, its time is in Unix ns
 *   interval    events with a duration, of a type without a unit or in units of time: the value is
 *               the duration in ns (kiln.event.interval, kiln.event.unit); else a sample attribute
 *               kiln.event.duration
 *   count, sum  if both are set, a second Profile of the same name with unit "1" has the counts
 *   clock       kiln.event.clock on the Profile: {index, frequency, time_unix_nano, attributes}
 *   default     kiln.event.default_value on the Profile
 *
 * The form in which a writer encodes a size is fixed (event_form), so that the reader can record in
 * the ledger which sizes a conversion back would change. */
#pragma once
#include "format/dialect_read.h"

__extension__ typedef __int128 i128;

typedef struct event_form {
    uint64_t value, count, sum;
} event_form;

/* Returns the form in which an event of this size is written: individual with a clock, aggregated
 * without. */
event_form event_form_of(bool clocked, uint64_t default_value, uint64_t size);

/* Convert ticks to ns and back. One rounds down, the other up, so that ticks up to 1 GHz are exact
 * after a round trip. */
i128 ticks_to_ns(i128 ticks, uint64_t frequency);
i128 ns_to_ticks(i128 ns, uint64_t frequency);

bool is_time_unit(str unit);
bool is_count_unit(str unit); /* "", "1", "count", "samples" */

typedef struct c_clock {
    uint64_t frequency, time_unix_nano;
    u32s attrs; /* builder attributes */
    i128 now;   /* time of the last event, in ticks */
    bool used;  /* a type uses it */
} c_clock;

typedef struct c_type {
    uint32_t name, unit; /* builder strings */
    uint32_t clock;      /* NONE: aggregated */
    uint64_t default_value;
    u32s attrs;
    bool refused; /* its clock does not advance */
    size_t n_events;
    bool durations, others; /* some events have a duration; some are not intervals */
    bool paired;            /* some events have both count and sum */
} c_type;

typedef struct c_event {
    uint32_t type, stack, link;
    span attrs;              /* range of event_attrs */
    uint64_t time, duration; /* ns */
    uint64_t value, count, sum;
} c_event;

typedef struct c_profile {
    dialect_head head;
    old_tables t;
    pieces events, types, stacks, clocks;
    list_fields comments;
    uint64_t end, duration;
    bool timed;
    u32s stack;
    VEC(c_clock) clock;
    VEC(c_type) type;
    VEC(c_event) event;
    u32s event_attrs;
    u32s comment; /* the comment as an attribute; at most one */
} c_profile;

bool c_collect(old *o, c_profile *p, pb_cur c);
bool c_tables(old *o, c_profile *p);
old_call c_attr_refs; /* reads into a u32s */
bool c_emit(old *o, c_profile *p);

/* Reads protobuf bytes: a bare Profile, or one in either container. */
bool events_decode(str bytes, const read_opts *ro, arena *a, model *out, err *e);
/* Appends protobuf bytes. Sets *root to their outermost message: a bare Profile or one in
 * containers. */
bool events_encode(const model *m, const write_opts *o, buf *out, dialect *root, err *e);

/* Convert between text and protobuf of one message. Field names are those of the schema and of the
 * proposal's prose. */
bool events_parse(str text, buf *out, dialect *root, err *e);
bool events_print(str bytes, dialect root, buf *out, err *e);
