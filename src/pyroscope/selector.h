/* pyroscope/selector.h - the vector selectors of PromQL, which Pyroscope's clients send.  Pure.
 *
 *     process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="x", pod!="y", zone=~"a|b", c!~`d`,}
 *     {"thread.name"="w"}     a name in quotes may have any characters
 *     {"a metric", a="b"}     so may the name of a metric
 *     {} and empty text       no matchers
 *
 * The grammar is that of Prometheus 3, with two extensions: empty text, and names without quotes
 * that contain dots or hyphens (service.name).  A name before the braces is a matcher on __name__.
 * A regular expression must match the whole value, and a missing label has the value "".
 *
 * Messages are those of Prometheus; the error's offset is the byte in the text. */
#pragma once
#include "base/str.h"
#include "base/vec.h"
#include "pyroscope/type_id.h"
#include "query/pattern.h"

enum {
    PYRO_SELECTOR_BYTES = 64 * 1024, /* longest text of a selector */
    PYRO_MATCHERS_MAX = 128,         /* matchers of all selectors of a request */
};

#define PYRO_METRIC_NAME STR(PYRO_NAME)

typedef enum pyro_op {
    PYRO_IS,
    PYRO_IS_NOT,
    PYRO_LIKE,
    PYRO_NOT_LIKE,
} pyro_op;

typedef struct pyro_matcher {
    str key; /* as written: thread_name or thread.name; see label.h */
    pyro_op op;
    str value;        /* unescaped, UTF-8 */
    pattern *pattern; /* of PYRO_LIKE and PYRO_NOT_LIKE, compiled */
} pyro_matcher;

/* The matchers of one or several selectors, all of which must match. */
typedef struct pyro_selector {
    VEC(pyro_matcher) matchers;
} pyro_selector;

/* Adds the matchers of `text` to *s, which starts as zero.  Keys and values are views of `text` or
 * memory of the arena.  The caller calls pyro_selector_free also after a failure.  ERR_MALFORMED for
 * the grammar, ERR_USAGE for an invalid regular expression, ERR_LIMIT, ERR_MEMORY. */
NODISCARD bool pyro_selector_add(pyro_selector *s, str text, arena *a, err *e);
void pyro_selector_free(pyro_selector *s);

/* Sets *yes if a label with this value satisfies the matcher; "" for a missing label.  ERR_LIMIT
 * when the expression is too costly for the value. */
NODISCARD bool pyro_matcher_accepts(const pyro_matcher *m, str value, bool *yes, err *e);
