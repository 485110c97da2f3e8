/* Prints arbitrary protobuf bytes in the three forms. Kiln's reader must accept the printed JSON,
 * and must print it the same again (except for ids of odd lengths). */
#include "wire/dump.h"
#include "wire/otlp_json.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

static bool is_odd_id(const err *e)
{
    return strstr(e->msg, "hex digits") || strstr(e->msg, "base64");
}

static void walk_all(const uint8_t *p, size_t n, layout l)
{
    for (int f = DUMP_YAML; f <= DUMP_TEXT; f++) {
        buf out = {.limit = 16 << 20};
        err e = {0};
        if (!dump_pb(p, n, l, &(dump_opts){.format = (dump_format)f}, &out, &e))
            MUST(e.code != ERR_OK && (e.offset <= n || e.offset == NO_OFFSET));
        buf_free(&out);
    }
}

static void round_trip(const uint8_t *p, size_t n, layout l)
{
    buf text = {.limit = 16 << 20}, pb = {0}, text2 = {0};
    err e = {0};
    if (otlp_pb_to_json(p, n, l, NULL, &text, &e)) {
        if (otlp_json_to_pb(text.p, text.n, l, &pb, NULL, &e)) {
            MUST(otlp_pb_to_json(pb.p, pb.n, l, NULL, &text2, &e));
            MUST(str_eq(buf_view(&text), buf_view(&text2)));
        } else {
            MUST(is_odd_id(&e));
        }
    }
    buf_free(&text), buf_free(&pb), buf_free(&text2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n) return 0;
    layout l = (layout)(1 + data[0] % (LAYOUT_COUNT - 1));
    walk_all(data + 1, n - 1, l);
    round_trip(data + 1, n - 1, l);
    return 0;
}
