/* Splits a request by copying protobuf fields without decoding them. */
#include "otlp/split.h"

#include "wire/pb.h"
#include "base/ban.h"

/* The number of the field that contains the next level, by depth: resource, scope, item. */
static const uint32_t way[] = {1, 2, 2};
enum { DEPTH = 3 };

static size_t count(pb_cur c, size_t depth)
{
    size_t n = 0;
    for (pb_field f; pb_next(&c, &f);)
        if (f.number == way[depth] && f.wire == 2)
            n += depth + 1 < DEPTH ? count(pb_message(&c, &f), depth + 1) : 1;
    return n;
}

size_t otlp_count_items(str request) { return count(pb_open(request.p, request.n, NULL), 0); }

typedef struct halves {
    size_t left; /* items that still belong to the first half */
    bool bad;
} halves;

/* Copies the fields of a message: each item to one half, other fields to both. Sets used[i] if half
 * i got items. */
static void part(pb_cur c, size_t depth, halves *h, buf out[2], bool used[2])
{
    for (pb_field f; pb_next(&c, &f);) {
        bool down = f.number == way[depth] && f.wire == 2;
        if (down && depth + 1 < DEPTH) {
            buf inner[2] = {{0}, {0}};
            bool filled[2] = {false, false};
            part(pb_message(&c, &f), depth + 1, h, inner, filled);
            for (int i = 0; i < 2; i++) {
                if (filled[i]) pb_put_bytes(&out[i], f.number, buf_view(&inner[i])), used[i] = true;
                h->bad |= inner[i].failed;
                buf_free(&inner[i]);
            }
            continue;
        }
        str raw = {(const char *)f.at, (size_t)(c.p - f.at)};
        int side = down && h->left == 0;
        if (down) h->left -= h->left > 0, used[side] = true;
        buf_str(&out[side], raw);
        if (!down) buf_str(&out[1], raw); /* other fields go to both */
    }
    h->bad |= !pb_ok(&c);
}

bool otlp_split(str request, buf *a, buf *b)
{
    size_t n = otlp_count_items(request);
    if (n < 2) return false;
    halves h = {.left = n / 2};
    buf out[2] = {*a, *b};
    bool used[2] = {false, false};
    part(pb_open(request.p, request.n, NULL), 0, &h, out, used);
    *a = out[0], *b = out[1];
    return !h.bad && !a->failed && !b->failed;
}
