/* format/folded_text.h - shared code of the text formats `folded` and `collapsed`. Pure.
 *
 *   folded      frame;frame;frame NUMBER              root first
 *   differences frame;frame;frame NUMBER NUMBER       before and after
 *   collapsed   frame;frame;frame NUMBER k=v,k=v TIME
 *
 * Lines end in LF or CRLF. A frame may end in _[k] (kernel), _[j] (jit), _[i] (inlined), _[w]
 * (waker), _[0] (interpreted) or _[1] (compiled by C1). */
#pragma once
#include "format/format.h"
#include "model/builder.h"

/* ---- text ---- */

typedef struct text_lines {
    str text;
    size_t at;       /* start of the next line */
    size_t begin;    /* start of the current line */
    uint64_t number; /* number of the current line, from 1 */
} text_lines;

/* Sets *row to the next line without its line end. Returns false after the last line. */
bool text_next(text_lines *t, str *row);

/* Whether the line is blank, or a comment with # or //. */
bool text_is_blank(str row);
bool text_is_comment(str row);

/* Sets *out to the input as UTF-8 without a byte order mark. UTF-16 is converted; invalid bytes
 * become U+FFFD and are recorded in the ledger. The result views `in` if nothing has to change. */
NODISCARD bool text_decode(str in, ledger *l, arena *a, str *out, err *e);

/* Returns the start of an input for detection: at most 256 KiB, without a partial last line. */
str text_first_lines(str bytes);

/* Implements format.is_current of text formats: the writers always write UTF-8. */
bool text_is_utf8(str bytes);

/* Returns the ranks of n texts in byte order; equal texts have equal ranks. NULL: out of memory. */
NODISCARD uint32_t *text_ranks(const str *texts, size_t n, arena *a);

/* Decodes %3B and the like. Escapes whose bytes would not be UTF-8 stay as they are. */
NODISCARD bool percent_decode(str s, arena *a, str *out);

/* ---- numbers ---- */

/* (-1)^negative * digits / 10^decimals; no trailing zeros after the decimal point. */
typedef struct decimal {
    uint64_t digits;
    int decimals; /* -400 ... 400 */
    bool negative;
    bool cut; /* the digits exceed 64 bits; the last ones are dropped */
} decimal;

/* Parses "12", "-3.50", "1.5e-05". Returns false for anything else. */
bool decimal_parse(str s, decimal *out);
/* Multiplies by 10^scale and rounds half away from zero. Returns false beyond 64 bits. */
NODISCARD bool decimal_scale(const decimal *d, int scale, int64_t *out, bool *rounded);
/* Parses an integer such as "-12". Returns false for anything else, or beyond 64 bits. */
bool integer_parse(str s, int64_t *out);
bool digits_only(str s); /* and at least one */

/* ---- reading ---- */

/* Observations with equal {stack, attributes, link} become one sample: values without a time are
 * added up, values with a time are listed. */
typedef struct text_sample {
    uint32_t stack, link;
    span attrs; /* range of text_reader.attrs */
    bool timed;
    uint32_t n;       /* number of observations, if they have times */
    int64_t value[2]; /* sums, if observations have no times */
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
    arena work; /* freed by text_close */
    VEC(text_frame) frames;
    hash_index by_text;
    VEC(text_sample) samples;
    hash_index by_identity;
    u32s attrs;
    VEC(text_observation) observations;
    u32s stack;    /* locations of the current stack */
    uint64_t base; /* offset of the text in the input; NO_OFFSET: it was converted */
    uint64_t n_bad;
    text_lines first_bad; /* the first line that is not a sample */
    size_t reported;      /* bytes of the last progress report */
} text_reader;

/* Decodes the text and begins a model in `a`. Call text_close in any case. */
NODISCARD bool text_open(text_reader *r, str bytes, const read_opts *o, arena *a, err *e);
void text_close(text_reader *r);

/* Returns the stack of the frames `a;b;c`; 0 when out of memory (the builder stores the error). */
uint32_t text_stack(text_reader *r, str list);
/* Adds one observation. `value` has two elements for differences, otherwise the second is 0. */
void text_add(text_reader *r, uint32_t stack, uint32_t link, const uint32_t *attrs, size_t n_attrs,
              const int64_t value[2], const uint64_t *time);
/* Counts a line that is not a sample and records it in the ledger. */
void text_bad(text_reader *r, const text_lines *at, str row, const char *why);
/* Fails when there were invalid lines and no sample. `form` is the expected form of a line. */
NODISCARD bool text_check(const text_reader *r, const char *form, err *e);
/* Adds the samples to the newest profile; `k` is the element of `value` in text_add. */
void text_samples(text_reader *r, unsigned k);
/* Returns the text of a comment without its # or //. */
str text_comment(str row);
/* Stores all n comments as one attribute, *attr. Returns 1; 0 when there are none. */
size_t text_comments(text_reader *r, uint64_t n, uint32_t *attr);
/* Reports progress. */
void text_progress(text_reader *r, const text_lines *at);

/* Adds an empty resource and scope, as in the draft's own example. */
void text_envelope(text_reader *r);

/* ---- writing ---- */

/* The losses of one concept, which a writer counts until the end. */
typedef struct text_loss {
    uint64_t n;
    char path[64];
    str value;
} text_loss;

/* The writer numbers frames by distinct text. A stack is a list of frame numbers, root first. */
typedef struct text_writer {
    const model *m;
    const write_opts *o;
    arena a;
    bool *chosen;   /* per profile: whether it is written */
    bool differs;   /* two profiles, "before" and "after", are written as differences */
    int64_t scale;  /* divisor of the values: 1, 10, 100 ... */
    VEC(str) names; /* per frame */
    hash_index by_name;
    span *of_location; /* location -> frames in `pool`; n = 0: not computed yet */
    bool *mapping_seen;
    u32s pool;
    buf scratch;
    text_loss lost[LOSS_CONCEPT_COUNT];
} text_writer;

/* Chooses the profiles to write: the default profile and others of its type. `type` and `unit` are
 * the format's defaults. Call text_write_close in any case. */
NODISCARD bool text_write_open(text_writer *w, const model *m, const write_opts *o, str type,
                               str unit, err *e);
/* Records the losses and frees the memory. */
void text_write_close(text_writer *w);

/* Appends the frames of a stack to `to`, root first. Returns false when out of memory. */
NODISCARD bool text_write_stack(text_writer *w, uint32_t stack, u32s *to);
/* With --threads, appends the frame "[name tid=1]" of a sample, if the sample has a thread. */
NODISCARD bool text_write_thread(text_writer *w, const sample *s, u32s *to);
/* Writes the frames separated by ; so that the line is not read as a comment. */
void text_put_stack(text_writer *w, buf *out, const uint32_t *list, size_t n);
/* Writes text. Line ends and the bytes in `stop` are replaced and recorded as a loss or, with
 * --percent, written as %3B and the like. */
void text_put(text_writer *w, buf *out, str s, const char *stop, const char *path);
/* Writes a value divided by the scale. */
void text_put_value(const text_writer *w, buf *out, int64_t v);

/* Counts a loss. The ledger shows the first one of each concept as an example. */
void text_lose(text_writer *w, loss_concept c, uint64_t n, str value, const char *fmt, ...)
    PRINTF(5, 6);

/* Returns the value of the attribute with this key; NULL: none. */
const any *text_attr(const dict *d, const uint32_t *attrs, size_t n, str key);

/* A line as the reader of `collapsed` splits it. */
typedef struct collapsed_line {
    str stack, attrs, time; /* attrs and time may be empty */
    int64_t value;
} collapsed_line;

bool collapsed_parse(str row, collapsed_line *out); /* false: the line has another form */

/* The write functions of the two formats. */
bool folded_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
/* Lines without attributes are also valid folded stacks, and async-profiler uses the suffix
 * .collapsed for those. This first line identifies the draft's format where the other lines do
 * not. */
#define COLLAPSED_MARK "# collapsed stacks of the OTLP profiles draft\n"
bool collapsed_write(const format *f, const model *m, const write_opts *o, buf *out, err *e);
