/* check/check.h - checks data against the rules of the OTLP profiles specification and its predecessors.
 *
 *
 *     check_bytes        protobuf of the current layout: checks the bytes, then the model
 *     check_bytes_of     protobuf of any released layout, by the rules of that layout
 *     check_message      a message by its schema alone: layouts before 1.8, drafts, log records
 *     check_model        a decoded model (JSON): without the rules about bytes
 *     check_payload      a payload of OTLP, with the appropriate function above
 *     check_format       an input of another format that has rules: arrays, events, log records
 *     profcheck_verdict  the verdict of profcheck, the checker of the SIG, with its quirks
 *     check_fix          repairs violations that have exactly one correction; reports the repairs
 *
 * A report has at most one finding per rule, with the number of violations and the first examples: the
 * report on a broken file of 100 MB fits on a page.  Memory does not grow with the number of violations. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "model/ledger.h"
#include "model/model.h"
#include "wire/frames.h"
#include "wire/layout.h"

/* ---- rules ---- */

/* The kind of a message: the number of a released layout, or one of these. */
typedef enum check_kind {
    CHECK_ARRAYS = LAYOUT_COUNT, /* the drafts before the first release: A to A2, A0 and bench */
    CHECK_EVENTS,                /* the proposal of timestamped events */
    CHECK_SPLUNK,                /* call stacks in log records */
    CHECK_KIND_COUNT
} check_kind;

const char *check_kind_name(unsigned kind); /* "layout 1.7", "the arrays draft", ... */

typedef enum check_severity { CHECK_INFO, CHECK_WARNING, CHECK_ERROR } check_severity;

const char *check_severity_name(check_severity s); /* "info", "warning", "error" */

typedef struct check_rule {
    const char *id;       /* "P-01", "L-01", ...; "WIRE": not protobuf of this layout; "UNKNOWN" */
    const char *level;    /* level in the specification: "MUST", "SHOULD", "expected", ... */
    const char *title;    /* short, no full stop */
    const char *expected; /* one sentence */
    const char *fix;      /* what a producer should change */
    const char *source;   /* "profiles.proto", "data-format.md", ... */
    const char *unseen;   /* NULL, or the reason why data cannot show a violation */
    check_severity severity;
    uint32_t kinds; /* bit (1 << kind) for each layout or check_kind that has the rule */
    bool wire;      /* needs protobuf bytes: check_model does not check it */
    bool fixable;   /* check_fix removes every violation */
} check_rule;

/* Returns all rules: P, L, A, E, S and Kiln's own, in order of their ids, including those that
 * cannot be checked in data. */
const check_rule *check_rules(size_t *n);
const check_rule *check_rule_find(str id); /* any case; NULL: no such rule */
/* Writes the layouts of a rule to out[n]: "1.8-1.11", "all", "1.3-1.8, arrays". CHECK_KINDS_MAX
 * bytes are enough. */
enum { CHECK_KINDS_MAX = 64 };
const char *check_kinds_text(uint32_t kinds, char *out, size_t n);

/* ---- checking ---- */

enum {
    CHECK_EXAMPLES = 5, /* default number of examples per rule */
    CHECK_EXAMPLES_MAX = 1000,
    CHECK_NOTES = 8,
};

typedef struct check_opts {
    const str *only; /* rule ids; none = all rules */
    size_t n_only;
    const str *ignore; /* rule ids */
    size_t n_ignore;
    check_severity min_severity; /* rules below this severity are not checked */
    uint32_t max_examples;       /* per rule; 0 = CHECK_EXAMPLES */
} check_opts;

typedef struct check_example {
    const char
        *path; /* "dictionary.location_table[12].lines[1].function_index"; "" = the message */
    const char *found;    /* "index 99, the table has 12 entries" */
    const char *expected; /* "an index below 12" */
    uint64_t offset;      /* byte in the input, or NO_OFFSET */
} check_example;

typedef struct check_finding {
    const check_rule *rule;
    uint64_t count;          /* violations; the examples are the first ones */
    check_example *examples; /* at least one */
    size_t n_examples;
} check_finding;

typedef struct check_report {
    check_finding *findings; /* in the order of the rules */
    size_t n_findings;
    uint64_t errors, warnings, infos; /* violations of each severity */
    const char *notes[CHECK_NOTES];   /* rules that were not checked, with the reason */
    size_t n_notes;
} check_report;

/* Checks protobuf bytes of the current layout. Returns true when the report is complete, with or
 * without findings; bytes that do not parse are a finding of WIRE. `o` may be NULL. The report is
 * in `a`. ERR_USAGE for an unknown rule id, ERR_MEMORY when the budget is used up. */
NODISCARD bool check_bytes(const void *p, size_t n, const check_opts *o, arena *a,
                           check_report *out, err *e);

NODISCARD bool check_bytes_of(layout l, const void *p, size_t n, const check_opts *o, arena *a,
                              check_report *out, err *e);

/* Checks bytes by the schema `root` and the rules of `kind` (a layout before 1.8, or a check_kind),
 * without conversion. With `plain`, the bytes are not those of the input (JSON was transcoded), so
 * examples have no offset. */
struct message_desc;
NODISCARD bool check_message(unsigned kind, const struct message_desc *root, str bytes, bool plain,
                             const check_opts *o, arena *a, check_report *out, err *e);

/* Checks a model, lenient or not.  Rules marked `wire` are not checked; a note reports it. */
NODISCARD bool check_model(const model *m, const check_opts *o, arena *a, check_report *out,
                           err *e);

/* Checks a payload of either kind. Bytes that fit no layout are checked against the current one, so
 * that WIRE reports the fault. LAYOUT_UNKNOWN: the layout is detected. `losses` may be NULL. */
NODISCARD bool check_payload(const payload *p, layout l, const check_opts *o, ledger *losses,
                             arena *a, check_report *out, err *e);

/* Returns whether this format has rules; for formats other than OTLP. */
struct format;
bool check_has_rules(const struct format *f, str bytes);
/* Checks a whole input of such a format. ERR_UNSUPPORTED when the format has no rules. */
NODISCARD bool check_format(const struct format *f, str bytes, const check_opts *o, arena *a,
                            check_report *out, err *e);

/* Reads the model of such a payload leniently, so that the rules find its faults. */
NODISCARD bool check_payload_read(const payload *p, layout l, ledger *losses, arena *a, model *out,
                                  err *e);

/* Returns the finding of a rule, or NULL. */
const check_finding *check_report_find(const check_report *r, const char *id);

/* ---- the SIG's profcheck ---- */

typedef enum profcheck_status {
    PROFCHECK_PASS,
    PROFCHECK_FAIL,       /* "conformance checks failed" */
    PROFCHECK_UNREADABLE, /* Go's decoder rejects the bytes */
    PROFCHECK_PANIC,      /* the Go program crashes */
} profcheck_status;

const char *profcheck_status_name(profcheck_status s); /* "pass", "fail", "unreadable", "panic" */

typedef struct profcheck_opts {
    bool check_dupes;         /* -check-dupes, off by default */
    bool check_sample_shapes; /* -check-sample-shapes, on by default */
    bool check_orphans;       /* -check-orphans, off by default */
} profcheck_opts;

#define PROFCHECK_DEFAULTS ((profcheck_opts){.check_sample_shapes = true})

typedef struct profcheck_result {
    profcheck_status status;
    uint64_t n_errors; /* lines that profcheck prints, or would have printed before a panic */
    char first[320];   /* the first line, or the cause of a panic; "" when the check passes */
} profcheck_result;

/* Computes the verdict on p[0..n). `o` NULL means PROFCHECK_DEFAULTS. Temporary memory comes from
 * `a`. Returns false only when its budget is used up. */
NODISCARD bool profcheck_verdict(const void *p, size_t n, const profcheck_opts *o, arena *a,
                                 profcheck_result *out, err *e);

/* ---- repair ---- */

#define FIX_ACTIONS(X)                                                                             \
    X(DICTIONARY, "P-01", "added an empty table's zero entry")                                     \
    X(ZERO_ENTRY, "P-02", "inserted a zero entry before a real entry 0 and moved all references")  \
    X(ZERO_STRING, "P-03", "inserted the empty string before a real string 0")                     \
    X(ZERO_REAL, "P-02", "interpreted index 0 as entry 0")                                         \
    X(ZERO_UNSET, "P-02", "interpreted index 0 as not set, although entry 0 was real")             \
    X(INDEX_RANGE, "P-06", "set an index outside its table to 0")                                  \
    X(INDEX_DROPPED, "P-06", "dropped an attribute index outside its table")                       \
    X(KEY_TWICE, "P-24", "kept the inline key of a pair that had key_strindex too")                \
    X(DUPLICATE, "P-07", "merged an entry into an earlier equal one")                              \
    X(ORPHAN, "P-10", "removed an entry that nothing refers to")                                   \
    X(ATTRIBUTE_TWICE, "P-21", "removed a repeated attribute index from a list")

typedef enum fix_kind {
#define X(id, rule, text) FIX_##id,
    FIX_ACTIONS(X)
#undef X
        FIX_KIND_COUNT
} fix_kind;

typedef struct fix_action {
    const char *rule;   /* id */
    const char *action; /* the repair, in words */
    uint64_t count;
    char path[160]; /* path of the first repair, in the input */
} fix_action;

typedef struct fix_report {
    fix_action v[FIX_KIND_COUNT]; /* only repairs that occurred */
    size_t n;
} fix_report;

/* Repairs a lenient model; the result is a checked model in `a`. `in` is not changed and must
 * outlive `out`. docs/check.md describes the repairs. ERR_MEMORY when the budget is used up. */
NODISCARD bool check_fix(const model *in, arena *a, model *out, fix_report *r, err *e);
