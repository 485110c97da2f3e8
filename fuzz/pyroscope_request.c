/* Arbitrary requests of Pyroscope's clients, in JSON and protobuf.  The first byte chooses the
 * message.  A request that is accepted in one encoding is the same after a trip through the other. */
#include "pyroscope/request.h"
#include "wire/otlp_json.h"

#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

enum { MEMORY = 16 << 20, LIMIT = 1 << 20 };

static const message_desc *const messages[] = {
    &pyro_time_range,     &pyro_label_names,    &pyro_label_values,  &pyro_series,
    &pyro_select_series,  &pyro_select_heatmap, &pyro_stacktraces,   &pyro_span_profile,
    &pyro_merge_profile,  &pyro_diff,           &pyro_analyze_query, &pyro_set_setting,
    &pyro_delete_setting, &pyro_adhoc_upload,   &pyro_adhoc_get,     &pyro_adhoc_diff,
};

static void same_texts(const pyro_texts *a, const pyro_texts *b)
{
    MUST(a->n == b->n && a->n <= PYRO_LIST_MAX);
    for (size_t i = 0; i < a->n; i++) MUST(str_eq(a->v[i], b->v[i]));
}

static void same(const pyro_request *a, const pyro_request *b)
{
    MUST(a->start == b->start && a->end == b->end);
    MUST(str_eq(a->profile_type, b->profile_type) && str_eq(a->selector, b->selector));
    same_texts(&a->matchers, &b->matchers);
    same_texts(&a->label_names, &b->label_names);
    same_texts(&a->group_by, &b->group_by);
    same_texts(&a->call_site, &b->call_site);
    same_texts(&a->span_ids, &b->span_ids);
    MUST(!memcmp(&a->step, &b->step, sizeof a->step) || a->step != a->step);
    MUST(a->has_limit == b->has_limit && a->limit == b->limit);
    MUST(a->has_max_nodes == b->has_max_nodes && a->max_nodes == b->max_nodes);
    MUST(!a->left == !b->left && !a->right == !b->right);
    if (a->left) same(a->left, b->left);
}

/* JSON and back. */
static void round_trip(const message_desc *d, str bytes, const pyro_request *r, arena *a)
{
    err e = {0};
    pyro_request again;
    buf json_text = {.limit = LIMIT}, pb = {.limit = LIMIT};
    if (!otlp_message_to_json(bytes.p, bytes.n, d, NULL, &json_text, &e)) goto end;
    json j = json_open(json_text.p, json_text.n, a, &e);
    if (!otlp_json_read_message(&j, d, &pb, NULL)) {
        MUST(e.code == ERR_LIMIT || e.code == ERR_MEMORY);
        goto end;
    }
    MUST(pyro_request_read(d, buf_view(&pb), a, &again, &e) || e.code == ERR_MEMORY);
    if (e.code == ERR_OK) same(r, &again);
end:
    buf_free(&json_text);
    buf_free(&pb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = MEMORY};
    err e = {0};
    pyro_request r;
    buf pb = {.limit = LIMIT};
    if (!n) return 0;
    const message_desc *d = messages[data[0] % ARRAY_LEN(messages)];
    str in = {(const char *)data + 1, n - 1};
    bool ok = pyro_request_read(d, in, &a, &r, &e);
    MUST(ok == (e.code == ERR_OK));
    if (ok) round_trip(d, in, &r, &a);
    e = (err){0};
    json j = json_open(in.p, in.n, &a, &e);
    if (otlp_json_read_message(&j, d, &pb, NULL) && json_finish(&j)) {
        MUST(pyro_request_read(d, buf_view(&pb), &a, &r, &e) || err_exhausted(&e));
        if (e.code == ERR_OK) round_trip(d, buf_view(&pb), &r, &a);
    }
    buf_free(&pb);
    arena_free(&a);
    return 0;
}
