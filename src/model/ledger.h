/* model/ledger.h - the loss ledger: data that a read, write, merge or ingest could not keep.
 *
 * There is one entry per concept, stage and outcome (lost, or carried as an attribute), with a
 * count and the first example. `--strict` ignores what was carried. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

/* All concepts: id, name in JSON, meaning. tools/losses generates the table of docs/losses.md from
 * this list. */
#define LOSS_CONCEPTS(X)                                                                           \
    X(UNKNOWN_FIELD, "unknown_field", "a field that no layout knows was skipped")                  \
    X(AGGREGATION_TEMPORALITY, "aggregation_temporality", "delta or cumulative")                   \
    X(COMMENTS, "comments", "free text on a profile")                                              \
    X(DEFAULT_SAMPLE_TYPE, "default_sample_type", "the type that a viewer shows first")            \
    X(SAMPLE_TYPE_ORDER, "sample_type_order", "order of several types in one profile")             \
    X(DROP_KEEP_FRAMES, "drop_keep_frames", "pprof's frame filters")                               \
    X(SYMBOL_STATE, "symbol_state", "has_functions and similar flags of a mapping")                \
    X(FOLDED_FLAG, "folded_flag", "is_folded on a location")                                       \
    X(FRAME_TYPE, "frame_type", "type of a frame")                                                 \
    X(BUILD_ID, "build_id", "identity of a binary")                                                \
    X(BUILD_ID_KIND, "build_id_kind", "how a build id was made")                                   \
    X(STACK_ID, "stack_id", "global id of a stack")                                                \
    X(ATTRIBUTE_UNIT, "attribute_unit", "unit of an attribute")                                    \
    X(STRING_REFERENCE, "string_reference", "a string by index became inline")                     \
    X(ENTITY_REF, "entity_ref", "entity of a resource")                                            \
    X(ARBITRARY_ID, "arbitrary_id", "ids that identify an entry and mean nothing else")            \
    X(REFERENCE, "reference", "a reference that can be read as a position and as an id")           \
    X(LABEL, "label", "pprof label")                                                               \
    X(TIME, "time", "start, end or duration disagreed or did not fit")                             \
    X(TIMESTAMP, "timestamp", "time of an observation")                                            \
    X(VALUE_SATURATED, "value_saturated", "a sum did not fit 64 bits")                             \
    X(MIXED_SHAPE, "mixed_shape", "samples of different shapes were combined")                     \
    X(RESOURCE, "resource", "resource, scope or schema of a profile")                              \
    X(PROFILE_ID, "profile_id", "identity of a profile")                                           \
    X(ORIGINAL_PAYLOAD, "original_payload", "bytes of the source file")                            \
    X(PERIOD, "period", "distance between two observations")                                       \
    X(TEXT, "text", "bytes that are not UTF-8 became U+FFFD")                                      \
    X(ATTRIBUTE, "attribute", "an attribute that the target has no place for")                     \
    X(LINK, "link", "trace and span of a sample")                                                  \
    X(MAPPING, "mapping", "binary and address of a frame")                                         \
    X(ROUNDED, "rounded", "a number was rounded to an integer of its unit")                        \
    X(NESTING, "nesting", "intervals that overlap without being nested")                           \
    X(EVENT, "event", "an event that is neither an interval nor a sample")                         \
    X(EVENT_DETAIL, "event_detail", "arguments and other details of an event")                     \
    X(METADATA, "metadata", "facts about the recording")                                           \
    X(LINE_TICKS, "line_ticks", "how often each line of a function was hit")                       \
    X(STACK_DEPTH, "stack_depth", "frames of a stack that is too deep")                            \
    X(STACK_COPY, "stack_copy", "callers that a copied stack does not yield")                      \
    X(PROFILE_REFUSED, "profile_refused", "a broken profile was skipped, others were read")        \
    X(VALUE_TYPE, "value_type", "a sample type, its name or its unit")                             \
    X(ATTRIBUTE_TYPE, "attribute_type", "an attribute that is not text became text")               \
    X(SOURCE_LINE, "source_line", "source file, line or column of a frame")                        \
    X(SYSTEM_NAME, "system_name", "mangled name of a function")                                    \
    X(INLINED, "inlined", "which calls were inlined")                                              \
    X(NAME, "name", "characters that the target cannot hold in a name")                            \
    X(OBSERVATIONS, "observations", "several values of a sample became their sum")                 \
    X(VALUE_SCALE, "value_scale", "values were multiplied to become integers")                     \
    X(TEXT_LINE, "text_line", "a line of text that is not a sample")                               \
    X(ATTRIBUTE_SET, "attribute_set", "boundary or dropped count of an attribute set")             \
    X(SAMPLE_SHAPE, "sample_shape", "values and timestamps of a sample in another shape")          \
    X(VALUE, "value", "a value that the target cannot hold")                                       \
    X(CLOCK, "clock", "clock of an event")                                                         \
    X(EVENT_DURATION, "event_duration", "duration of an event")                                    \
    X(COUNT_SUM, "count_sum", "how the size of an event follows from count, sum and value")        \
    X(EVENT_ORDER, "event_order", "order of events of different types")                            \
    X(INDEX_REPAIRED, "index_repaired", "an index outside its table was cleared")                  \
    X(BASE_PROFILE, "base_profile", "the second profile of a report that compares two")            \
    X(DAMAGED, "damaged", "a part of the input that breaks its format was left out")               \
    X(TRUNCATED, "truncated", "input ended early")

typedef enum loss_concept {
#define X(id, name, what) LOSS_##id,
    LOSS_CONCEPTS(X)
#undef X
        LOSS_CONCEPT_COUNT
} loss_concept;

typedef enum loss_stage { STAGE_READ, STAGE_WRITE, STAGE_MERGE, STAGE_INGEST } loss_stage;

typedef struct loss {
    loss_concept concept;
    loss_stage stage;
    uint64_t count;
    char path[128], value[64]; /* the first example; value may be "" */
    const char *carried_as;    /* attribute key, or NULL: lost */
} loss;

typedef struct ledger {
    loss v[LOSS_CONCEPT_COUNT * 8]; /* concept x stage x (carried, lost): never grows */
    size_t n;
} ledger;

/* Counts one loss and stores the example if it is the first of its kind. `l` may be NULL.
 * carried_as is static text, or NULL when the data is lost. */
void ledger_add(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as,
                const char *path, str value);
void ledger_add_n(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as,
                  uint64_t count, const char *path, str value);
/* Removes the entry, if there is one, because nothing was lost after all.  `l` may be NULL. */
void ledger_drop(ledger *l, loss_stage stage, loss_concept concept, const char *carried_as);
void ledger_merge(ledger *to, const ledger *from);
/* Merges like ledger_merge, but counts losses of the stage `read` as carried by `as`. Damage of the
 * input stays a loss. */
void ledger_merge_carried(ledger *to, const ledger *from, const char *as);
bool ledger_lost(const ledger *l); /* true when an entry was not carried */
/* Describes damage of the input: "what (how often, where: why)". Returns false and "" when the
 * input is not damaged. */
bool ledger_damage(const ledger *l, char *out, size_t n);

const char *loss_name(loss_concept c);
const char *loss_what(loss_concept c);
const char *loss_stage_name(loss_stage s);
