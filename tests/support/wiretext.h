/* tests/support/wiretext.h - protobuf bytes from a line of text, so that a case shows its message.
 *
 *     1{ 2{ 2{ 1:5 4[1 -2] 5@7 } } } 2{ 5"" 4<00ff> } |0a 80|
 *
 *   N:v   varint (decimal, 0x, negative)     N@v   fixed64      N#v   fixed32
 *   N{ }  message                            N"s"  string       N<hex> bytes
 *   N[ ]  packed varints                     |hex| bytes as they are
 *   ^     the byte that follows is where an error is expected */
#pragma once
#include "base/buf.h"
#include "wire/pb.h"

#include <stdio.h>
#include <stdlib.h>

#define WIRE_NO_MARK SIZE_MAX

static inline const char *wire_blank(const char *s)
{
    while (*s == ' ' || *s == '\n') s++;
    return s;
}

static inline uint64_t wire_number(const char **s)
{
    char *end;
    uint64_t v = **s == '-' ? (uint64_t)strtoll(*s, &end, 0) : strtoull(*s, &end, 0);
    if (end == *s) {
        fprintf(stderr, "wiretext: a number is expected at: %s\n", *s);
        abort();
    }
    *s = end;
    return v;
}

static inline const char *wire_hex(const char *s, char close, buf *out)
{
    for (s = wire_blank(s); *s != close; s = wire_blank(s + 2)) {
        char two[3] = {s[0], s[1], 0};
        buf_putc(out, (char)strtoul(two, NULL, 16));
    }
    return s + 1;
}

/* Appends the items up to `close` to *out; sets *mark to the position of ^. */
static inline const char *wire_items(const char *s, char close, buf *out, size_t *mark)
{
    for (s = wire_blank(s); *s != close; s = wire_blank(s)) {
        if (*s == '^') {
            *mark = out->n;
            s++;
        } else if (*s == '|') {
            s = wire_hex(s + 1, '|', out);
        } else {
            uint32_t number = (uint32_t)wire_number(&s);
            char kind = *s++;
            buf sub = {0};
            size_t sub_mark = WIRE_NO_MARK;
            uint64_t v;
            switch (kind) {
            case ':': pb_put_uint(out, number, wire_number(&s)); continue;
            case '@': pb_put_fixed64(out, number, wire_number(&s)); continue;
            case '#':
                pb_put_varint(out, (uint64_t)number << 3 | 5);
                v = wire_number(&s);
                buf_put(out, (char[]){(char)v, (char)(v >> 8), (char)(v >> 16), (char)(v >> 24)},
                        4);
                continue;
            case '{': s = wire_items(s, '}', &sub, &sub_mark); break;
            case '"':
                for (; *s != '"'; s++) buf_putc(&sub, *s);
                s++;
                break;
            case '<': s = wire_hex(s, '>', &sub); break;
            case '[':
                for (s = wire_blank(s); *s != ']'; s = wire_blank(s)) {
                    if (*s == '^')
                        sub_mark = sub.n, s++;
                    else
                        pb_put_varint(&sub, wire_number(&s));
                }
                s++;
                break;
            default: fprintf(stderr, "wiretext: unknown kind '%c' before: %s\n", kind, s); abort();
            }
            pb_put_bytes(out, number, buf_view(&sub));
            if (sub_mark != WIRE_NO_MARK) *mark = out->n - sub.n + sub_mark;
            buf_free(&sub);
        }
    }
    return *s ? s + 1 : s;
}

/* Returns the bytes of `text`, which the caller frees. Sets *mark (may be NULL) to the position of
 * ^. */
static inline buf wire_bytes(const char *text, size_t *mark)
{
    buf out = {0};
    size_t at = WIRE_NO_MARK;
    wire_items(text, '\0', &out, &at);
    if (mark) *mark = at;
    return out;
}
