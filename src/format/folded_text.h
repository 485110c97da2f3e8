/* format/folded_text.h - what the text formats `folded` and `collapsed` share.  Pure.
 *
 *   folded      frame;frame;frame NUMBER              root first
 *   differences frame;frame;frame NUMBER NUMBER       before and after
 *   collapsed   frame;frame;frame NUMBER k=v,k=v TIME
 *
 * A line at a time; its end is LF or CRLF.  A frame may end in _[k] (kernel), _[j] (jit), _[i]
 * (inlined), _[w] (waker), _[0] (interpreted) or _[1] (first compiler). */
#pragma once
#include "format/format.h"
#include "model/builder.h"

/* ---- text ---- */

typedef struct text_lines {
    str text;
    size_t at;       /* where the next line begins */
    size_t begin;    /* where the line at hand begins */
    uint64_t number; /* of the line at hand, from 1 */
} text_lines;

/* The next line without its end; false behind the last. */
bool text_next(text_lines *t, str *row);

/* Blank, or a comment of # or //. */
bool text_is_blank(str row);
bool text_is_comment(str row);

/* The input as UTF-8 without a byte order mark: UTF-16 is converted, bytes that are no UTF-8 become
 * U+FFFD and a ledger entry.  Views `in` where nothing has to change. */
NODISCARD bool text_decode(str in, ledger *l, arena *a, str *out, err *e);

/* %3B and the like back into bytes; what would not be UTF-8 is left as it stands. */
NODISCARD bool percent_decode(str s, arena *a, str *out);

/* ---- numbers ---- */

/* (-1)^negative * digits / 10^decimals; no trailing zeros behind the point. */
typedef struct decimal {
    uint64_t digits;
    int decimals; /* -400 ... 400 */
    bool negative;
    bool cut; /* more digits than 64 bits hold: the last ones are gone */
} decimal;

/* "12", "-3.50", "1.5e-05"; false when it is something else. */
bool decimal_parse(str s, decimal *out);
/* Times 10^scale, rounded half away from zero; false beyond 64 bits. */
NODISCARD bool decimal_scale(const decimal *d, int scale, int64_t *out, bool *rounded);
/* "-12" into 64 bits, digits only. */
bool integer_parse(str s, int64_t *out);
bool digits_only(str s); /* at least one */

/* ---- reading ---- */

/* Observations of equal {stack, attributes, link} become one sample: values without a time are
 * added up, values with a time are listed. */
typedef struct text_sample {
    uint32_t stack, link;
    span attrs; /* in text_reader.attrs */
    bool timed;
    uint32_t n;       /* observations, when timed */
    int64_t value[2]; /* sums, when not */
} text_sample;

typedef struct text_observation {
    uint32_t sample;
    int64_t value;
    uint64_t time;
} text_observation;

typedef struct text_frame {
    str text; /* as in the file, with its annotation */
    uint32_t location;
} text_frame;

typedef struct text_reader {
    builder b;
    const read_opts *o;
    str text;
    arena work; /* gone with text_close */
    VEC(text_frame) frames;
    hash_index by_text;
    VEC(text_sample) samples;
    hash_index by_identity;
    u32s attrs;
    VEC(text_observation) observations;
    u32s stack;    /* locations of the stack at hand */
    uint64_t base; /* of the text in the input; NO_OFFSET: it was converted */
    uint64_t n_bad;
    text_lines first_bad; /* at the first line that is no sample */
    size_t told;          /* progress: bytes */
} text_reader;

/* Decodes the text and begins a model in `a`.  text_close in any case. */
NODISCARD bool text_open(text_reader *r, str bytes, const read_opts *o, arena *a, err *e);
void text_close(text_reader *r);

/* The stack of a text of frames; 0 when out of memory (the builder remembers). */
uint32_t text_stack(text_reader *r, str list);
/* One observation.  `value` has two elements for differences, otherwise the second is 0. */
void text_add(text_reader *r, uint32_t stack, uint32_t link, const uint32_t *attrs, size_t n_attrs,
              const int64_t value[2], const uint64_t *time);
/* A line that is no sample: counted, named in the ledger. */
void text_bad(text_reader *r, const text_lines *at, str row, const char *why);
/* Fails when lines were bad and none was good. */
NODISCARD bool text_check(const text_reader *r, const char *wanted, err *e);
/* The samples as those of the newest profile; `k` is the column of text_add. */
void text_samples(text_reader *r, unsigned k);
/* What a comment says, without its mark. */
str text_comment(str row);
/* All comments as an attribute of the profile; `n` of them.  Returns 1, or 0 when there are none. */
size_t text_comments(text_reader *r, uint64_t n, uint32_t *attr);
/* Tells whoever looks how far it is. */
void text_progress(text_reader *r, const text_lines *at);

/* An empty resource and scope, as the draft's own example has them. */
void text_envelope(text_reader *r);

/* ---- writing ---- */

/* What a writer leaves out, counted until the end: one entry a concept. */
typedef struct text_loss {
    uint64_t n;
    char path[64];
    str value;
} text_loss;

/* Frames by number, their texts distinct; a stack is a list of frame numbers, root first. */
typedef struct text_writer {
    const model *m;
    const write_opts *o;
    arena a;
    bool *chosen;   /* per profile: is written */
    bool differs;   /* the profiles are "before" and "after" */
    int64_t scale;  /* what values are divided by: 1, 10, 100 ... */
    VEC(str) names; /* per frame */
    hash_index by_name;
    span *of_location; /* location -> frames in `pool`; n = 0: not seen yet */
    bool *mapping_seen;
    u32s pool;
    buf scratch;
    text_loss lost[LOSS_CONCEPT_COUNT];
} text_writer;

/* Chooses the profiles: the default, and others of the same sample type.  `type` and `unit`: what
 * the format means when it says nothing.  text_write_close in any case. */
NODISCARD bool text_write_open(text_writer *w, const model *m, const write_opts *o, str type,
                               str unit, err *e);
/* Enters the losses and gives the memory back. */
void text_write_close(text_writer *w);

/* Appends the frames of a stack to `to`, root first; false at the end of memory. */
NODISCARD bool text_write_stack(text_writer *w, uint32_t stack, u32s *to);
/* With --threads, the frame "[name tid=1]" of a sample; nothing when it has no thread. */
NODISCARD bool text_write_thread(text_writer *w, const sample *s, u32s *to);
/* The frames with ; between them, such that the line is no comment. */
void text_put_stack(text_writer *w, buf *out, const uint32_t *list, size_t n);
/* Text that may hold neither line ends nor the bytes of `stop`: replaced and noted, or %3B. */
void text_put(text_writer *w, buf *out, str s, const char *stop, const char *path);
/* A value, divided by the scale. */
void text_put_value(const text_writer *w, buf *out, int64_t v);

/* One more loss of that kind; the first keeps its example. */
void text_lose(text_writer *w, loss_concept c, uint64_t n, str value, const char *fmt, ...)
    PRINTF(5, 6);

/* Attribute of a list by its key; NULL: none. */
const any *text_attr(const dict *d, const uint32_t *attrs, size_t n, str key);

/* How the reader of `collapsed` splits a line. */
typedef struct collapsed_line {
    str stack, attrs, time; /* the last two may be empty */
    int64_t value;
} collapsed_line;

bool collapsed_parse(str row, collapsed_line *out); /* false: it is no such line */

/* The writers, for the table of formats. */
bool folded_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
/* Lines without attributes are folded stacks as well, and .collapsed is what async-profiler calls those: a comment in front says that it
 * is the draft's format where the lines do not. */
#define COLLAPSED_MARK "# collapsed stacks of the OTLP profiles draft\n"
bool collapsed_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
