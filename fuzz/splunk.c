/* Reads log records. The result is an error with an offset, or a model that can be written. The
 * output must read back and can be written again. */
#include "format/splunk.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

static bool again(str in, buf *out)
{
    arena a = {.budget = 64 << 20};
    model m;
    err e = {0};
    bool ok = format_splunk_logs.read(&format_splunk_logs, in, &(read_opts){0}, &a, &m, NULL, &e);
    if (!ok) MUST(e.code != ERR_OK && e.msg[0] && (e.offset <= in.n || e.offset == NO_OFFSET));
    if (ok) MUST(format_splunk_logs.write(&format_splunk_logs, &m, &(write_opts){0}, out, &e));
    arena_free(&a);
    return ok;
}

/* Parses the text of a call stack directly, because random bytes rarely form the messages around
 * it. */
static void parse_text(str in)
{
    arena a = {.budget = 16 << 20};
    for (unsigned i = 0; i < 4; i++) {
        splunk_stack s;
        splunk_text_opts o = {.columns = i & 1, .dotnet = i >> 1};
        if (splunk_text_parse(in, &o, &a, &s)) MUST(s.frames.n <= SPLUNK_MAX_FRAMES);
    }
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    str in = {(const char *)data, n};
    format_splunk_logs.detect(in);
    parse_text(in);
    buf one = {0}, two = {0};
    if (again(in, &one)) MUST(again(buf_view(&one), &two));
    buf_free(&one), buf_free(&two);
    return 0;
}
