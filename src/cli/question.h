/* cli/question.h - what top, tree, peek, list, traces and series share: the options of a selection, the
 * inputs, and the view over them. */
#pragma once
#include "cli/input.h"
#include "draw/human.h"
#include "query/flat.h"

typedef struct question {
    cli *c;
    input *in;
    size_t n_in;
    size_t at;   /* the input that is looked at, for errors; n_in: none of them */
    arena arena; /* of the view and the answer */
    select_opts o;
    granularity by;
    bool lent;          /* the inputs are somebody else's */
    bool brief;         /* the head says what is shown, and not what else there is */
    bool keep_replaced; /* also cumulative profiles that a newer one holds (query/cumulative.h) */
    bool apart;         /* inputs are recordings of their own: none holds a profile of another */
    int schema;         /* of --json; 0: 1 */
    frame_table frames;
    view v;
} question;

/* Opens all inputs and makes the view.  `by` is used unless an option says otherwise; `o.by_sample`,
 * `keep_replaced`, `apart` and `schema` in `q` are what the command itself wants.  false: reported, nothing to close. */
bool question_open(question *q, cli *c, const char **paths, size_t n, granularity by);
/* One more input for the same question: what it is compared with.  Closed by the caller.  false: reported. */
bool question_input(const question *q, cli *c, const char *path, input *in);
/* Adds it to a view over q->frames, like an input of the question alone; unless an option says the type, that of the
 * question if it has such profiles. */
NODISCARD bool question_add(const question *q, input *in, view *v, err *e);
/* q->o as far as it still has to choose from this input. */
select_opts question_select(const question *q, const input *in);
/* The same over an input that is open already and stays the caller's. */
bool question_lend(question *q, cli *c, input *in, granularity by);
void question_close(question *q);

/* --nodecount and the like; `count` is the command's own default. */
flat_opts question_flat(const cli *c, size_t count);

/* Reports e, under the name of the input if it is about one. */
void question_fail(question *q, const err *e);

/* ---- printing (question_out.c) ---- */
struct json_out;

/* "app.pprof: cpu in nanoseconds, 1.17 s in 786 samples", the selection, and what else there is. */
void question_head(question *q, buf *b);
/* The same as members of an object that is open: schema, inputs, sample_type, unit, total ... */
void question_head_json(question *q, struct json_out *o);

/* A value in --unit, or as people say it; "0" for nothing. */
const char *question_value(const question *q, int64_t v, char out[HUMAN_MAX]);
/* " 2.50%" of the view's total, six columns; pprof's precision. */
const char *percent_text(int64_t v, int64_t whole, char out[HUMAN_MAX]);

/* The clock of the view's times, shown from `base` on: without a date where no profile of it has one. */
human_clock question_clock(const question *q, uint64_t base);
/* That of one profile. */
human_clock profile_clock(const model *m, const profile *p);

/* Columns that a line may have; SIZE_MAX: no limit. */
size_t question_width(const cli *c);
/* A frame as JSON members: name, file, line, address, mapping, what is known of them. */
void frame_json(struct json_out *o, const frame_table *f, uint32_t i);
