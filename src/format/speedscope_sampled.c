/* Reads a sampled profile: a list of stacks and a parallel list of weights. */
#include "format/speedscope_read.h"

#include "base/ban.h"

enum { GUARD = 9 }; /* extra digits, so that only sums are rounded */

static bool sample_stack(json *j, speedscope_reader *r, uint32_t *node)
{
    if (j->tok != JSON_ARRAY) return json_expected(j, "a stack");
    *node = 0;
    while (json_element(j)) {
        uint32_t loc;
        if (!speedscope_frame(j, r, &loc)) return false;
        *node = nest_child(&r->tree, *node, loc);
    }
    return !j->bad;
}

/* Reads the next weight. Rounds the running sum instead of each weight, so that a thousand times
 * 0.0001 is 0.1. */
static bool next_weight(json *w, speedscope_reader *r, const speedscope_section *p, wide *sum,
                        int64_t *value)
{
    wide v;
    bool exact;
    if (!json_element(w)) return json_fail(w, "there are fewer weights than samples");
    if (!json_to_wide(w, p->scale + GUARD, &v, &exact)) return false;
    wide before = wide_round(*sum, GUARD), after = wide_round(*sum + v, GUARD);
    if (after > INT64_MAX || after < INT64_MIN)
        return json_fail(w, "the weights do not fit in 64 bits");
    r->rounded |= !exact || v % 1000000000 != 0;
    *sum += v;
    *value = (int64_t)(after - before);
    return true;
}

bool speedscope_read_sampled(speedscope_reader *r, const speedscope_section *p, err *e)
{
    json s = json_open_slice(p->samples, r->work, e), w = json_open_slice(p->weights, r->work, e);
    if (!p->samples.bytes.n || !p->weights.bytes.n)
        return err_set(e, ERR_MALFORMED, "a sampled profile requires samples and weights");
    if (!json_expect_array(&s) || !json_expect_array(&w)) return false;
    wide sum = 0;
    while (json_element(&s)) {
        speedscope_piece *x = vec_push(r->work, &r->pieces);
        if (!x) return err_memory(e);
        int64_t past;
        if (ckd_add(&past, p->start, (int64_t)wide_round(sum, GUARD)))
            return json_fail(&s, "the time does not fit in 64 bits");
        x->time = past;
        if (!sample_stack(&s, r, &x->node)) return err_in(e, "samples[%zu]", r->pieces.n - 1);
        if (!next_weight(&w, r, p, &sum, &x->value))
            return err_in(e, "weights[%zu]", r->pieces.n - 1);
    }
    if (!s.bad && json_element(&w)) return json_fail(&w, "there are more weights than samples");
    return !s.bad && !w.bad;
}
