/* Reads JSON. The tokenizer must give the same tokens from memory and through a small window. The
 * transcoder must write valid protobuf, whose JSON does not change in another round trip. */
#include "wire/json.h"
#include "wire/otlp_json.h"
#include "wire/pb.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

typedef struct drip {
    source base;
    str left;
} drip;

static bool drip_read(source *s, void *p, size_t n, size_t *got, err *e)
{
    drip *d = (drip *)s;
    (void)e;
    size_t k = d->left.n < 7 ? d->left.n : 7;
    *got = k < n ? k : n;
    if (*got) memcpy(p, d->left.p, *got);
    d->left.p += *got;
    d->left.n -= *got;
    return true;
}

static void tokens_agree(str in)
{
    arena a = {0}, b = {0};
    err ea = {0}, eb = {0};
    drip d = {.base = {.read = drip_read}, .left = in};
    json whole = json_open(in.p, in.n, &a, &ea), window = json_open_source(&d.base, 16, &b, &eb);
    json_token t;
    do {
        t = json_next(&whole);
        MUST(t == json_next(&window));
        if (t == JSON_KEY || t == JSON_STRING || t == JSON_NUMBER)
            MUST(str_eq(whole.text, window.text));
        if (t != JSON_FAIL) MUST(whole.at == window.at);
    } while (t > JSON_END);
    MUST(ea.code == eb.code && ea.offset == eb.offset && strcmp(ea.msg, eb.msg) == 0);
    MUST(ea.code == ERR_OK || ea.offset <= in.n);
    arena_free(&a);
    arena_free(&b);
}

static void is_protobuf(str pb)
{
    pb_cur c = pb_open(pb.p, pb.n, NULL);
    pb_field f;
    while (pb_next(&c, &f)) continue;
    MUST(pb_ok(&c));
}

static void transcode(str in)
{
    buf pb = {0}, text = {0}, pb2 = {0}, text2 = {0};
    err e = {0};
    otlp_json_found found;
    if (otlp_json_to_pb(in.p, in.n, LAYOUT_UNKNOWN, &pb, &found, &e)) {
        is_protobuf(buf_view(&pb));
        MUST(otlp_pb_to_json(pb.p, pb.n, found.layout, NULL, &text, &e));
        MUST(otlp_json_to_pb(text.p, text.n, found.layout, &pb2, NULL, &e));
        MUST(otlp_pb_to_json(pb2.p, pb2.n, found.layout, NULL, &text2, &e));
        MUST(str_eq(buf_view(&text), buf_view(&text2)));
    } else {
        MUST(e.code != ERR_OK && e.msg[0] && (e.offset <= in.n || e.offset == NO_OFFSET));
    }
    buf_free(&pb), buf_free(&text), buf_free(&pb2), buf_free(&text2);
}

/* Transcodes with a forced layout, which the first byte chooses: field names alone rarely lead to
 * the old layouts. */
static void transcode_as(str in, layout l)
{
    buf pb = {0}, text = {0};
    err e = {0};
    if (otlp_json_to_pb(in.p, in.n, l, &pb, NULL, &e))
        MUST(otlp_pb_to_json(pb.p, pb.n, l, &(otlp_json_opts){.pretty = true}, &text, &e));
    else
        MUST(e.offset <= in.n || e.offset == NO_OFFSET);
    buf_free(&pb), buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    str in = {(const char *)data, n};
    tokens_agree(in);
    transcode(in);
    if (n) transcode_as((str){in.p + 1, n - 1}, (layout)(1 + data[0] % (LAYOUT_COUNT - 1)));
    return 0;
}
