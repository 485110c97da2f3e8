/* cli/query.h - code that top, tree, peek, list, traces, diff, series and flame share: the options
 * that select, the inputs, and the view (query/select.h) over them. */
#pragma once
#include "cli/input.h"
#include "draw/human.h"
#include "query/flat.h"

typedef struct query {
    cli *c;
    input *in;
    size_t n_in;
    size_t at;   /* the current input, for error messages; n_in: none */
    arena arena; /* memory of the view and the result */
    select_opts o;
    granularity by;
    bool borrowed; /* the caller owns the inputs */
    bool brief;    /* the header does not list other types */
    bool
        keep_replaced; /* keep cumulative profiles that a newer one includes (query/cumulative.h) */
    bool apart;        /* inputs are independent: no profile includes one of another input */
    int schema;        /* version of --json; 0 means 1 */
    frame_table frames;
    view v;
} query;

/* Opens all inputs and makes the view.  `by` is the granularity unless an option overrides it.  The
 * command sets `o.by_sample`, `brief`, `keep_replaced`, `apart` and `schema` in *q before.  Returns
 * false after reporting a failure; then there is nothing to close. */
bool query_open(query *q, cli *c, const char **paths, size_t n, granularity by);
/* Opens an additional input with the options of the query, to compare with.  The caller closes it.
 * Returns false after reporting a failure. */
bool query_open_input(const query *q, cli *c, const char *path, input *in);
/* Adds an input of query_open_input to a view over q->frames.  Unless an option chooses the type,
 * uses the type of the query if the input has it. */
NODISCARD bool query_add_input(const query *q, input *in, view *v, err *e);
/* Returns the part of q->o that remains to be applied to this input.  A store or a server has
 * already applied some of it. */
select_opts query_options_for(const query *q, const input *in);
/* Like query_open, over one input that is already open and that the caller keeps. */
bool query_borrow(query *q, cli *c, input *in, granularity by);
void query_close(query *q);

/* Returns the options of flat_of from --nodecount and related options.  `count` is the command's
 * default. */
flat_opts cli_flat_opts(const cli *c, size_t count);

/* Reports *e with the name of the current input, if any. */
void query_fail(query *q, const err *e);

/* ---- printing (query_out.c) ---- */
struct json_out;

/* Prints "app.pprof: cpu in nanoseconds, 1.17 s in 786 samples", the selection, and the other types
 * of the input. */
void query_header(query *q, buf *b);
/* Adds the same facts to an open JSON object: schema, inputs, sample_type, unit, total ... */
void query_header_json(query *q, struct json_out *o);

/* Formats a value in --unit or in a readable unit. */
const char *query_value(const query *q, int64_t v, char out[HUMAN_MAX]);
/* Formats v as a percentage of `whole` in six columns (" 2.50%"), with pprof's precision. */
const char *percent_text(int64_t v, int64_t whole, char out[HUMAN_MAX]);

/* Returns the clock for times of the view.  If no profile has a date, times are relative to
 * `base`. */
human_clock query_clock(const query *q, uint64_t base);
/* Returns the clock for times of one profile. */
human_clock profile_clock(const model *m, const profile *p);

/* Returns the maximum number of columns; SIZE_MAX: no limit. */
size_t cli_width(const cli *c);
/* Adds the known facts of a frame to an open JSON object: name, file, line, address, mapping. */
void frame_json(struct json_out *o, const frame_table *f, uint32_t i);
