/* format/events.h - dialect C, the proposal of timestamped events: one Profile message at a time.
 *
 *   EventType   a Profile of the model, in order
 *   Event       a sample: its size as the value, its instant in Unix ns
 *   interval    events with a duration whose type has no unit or one of time: the value is the
 *               duration in ns (kiln.event.interval, kiln.event.unit); else a sample attribute
 *               kiln.event.duration
 *   count, sum  both set: a second Profile of the same name with unit "1" for the counts
 *   clock       kiln.event.clock on the Profile: {index, frequency, time_unix_nano, attributes}
 *   default     kiln.event.default_value on the Profile
 *
 * What a writer makes of a size is fixed (event_form), so that a reader knows what will come back and
 * what belongs into the ledger. */
#pragma once
#include "format/dialect_read.h"

__extension__ typedef __int128 i128;

typedef struct event_form {
    uint64_t value, count, sum;
} event_form;

/* How an event of this size is written: individually with a clock, as an aggregate without. */
event_form event_form_of(bool clocked, uint64_t default_value, uint64_t size);

/* Ticks to ns and back: floor one way, ceiling the other, so that up to 1 GHz nothing is lost. */
i128 ticks_to_ns(i128 ticks, uint64_t frequency);
i128 ns_to_ticks(i128 ns, uint64_t frequency);

bool is_time_unit(str unit);
bool is_count_unit(str unit); /* "", "1", "count", "samples" */

typedef struct c_clock {
    uint64_t frequency, time_unix_nano;
    u32s attrs; /* builder attributes */
    i128 now;   /* ticks */
    bool used;  /* by a type */
} c_clock;

typedef struct c_type {
    uint32_t name, unit; /* builder strings */
    uint32_t clock;      /* NONE: aggregated */
    uint64_t default_value;
    u32s attrs;
    bool refused; /* its clock stands still */
    /* of its events */
    size_t n_events;
    bool durations, others; /* some have a duration; some are more than an interval can say */
    bool paired;            /* some have both count and sum */
} c_type;

typedef struct c_event {
    uint32_t type, stack, link;
    span attrs;              /* in event_attrs */
    uint64_t time, duration; /* ns */
    uint64_t value, count, sum;
} c_event;

typedef struct c_profile {
    dialect_head head;
    old_tables t;
    dialect_main main;
    pieces events, types, stacks, clocks;
    list_fields comments;
    uint64_t end, duration;
    bool timed;
    u32s stack;
    VEC(c_clock) clock;
    VEC(c_type) type;
    VEC(c_event) event;
    u32s event_attrs;
    u32s frames;
    u32s comment; /* attribute, at most one */
} c_profile;

bool c_collect(old *o, c_profile *p, pb_cur c);
bool c_tables(old *o, c_profile *p);
bool c_attr_refs(old *o, const c_profile *p, const pb_field *f, const char *name, u32s *to);
bool c_emit(old *o, c_profile *p);

/* Reads protobuf bytes of any of the three envelopes. */
bool events_decode(str bytes, const read_opts *ro, arena *a, model *out, err *e);
/* Appends protobuf bytes; *root says what they are: a bare Profile or in containers. */
bool events_encode(const model *m, const write_opts *o, buf *out, dialect *root, err *e);

/* Text and protobuf of one message, by the names of the tables; the proposal's spellings too. */
bool events_parse(str text, buf *out, dialect *root, err *e);
bool events_print(str bytes, dialect root, buf *out, err *e);
