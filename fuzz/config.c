/* Reads arbitrary bytes as a configuration. It is accepted, or rejected with a line number. An
 * accepted configuration is printed and must read back the same. */
#include "server/config.h"

#include <stdlib.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

/* Prints the configuration and reads it again. Headers are printed without their values, which are
 * secret. */
static void read_again(const server_config *c)
{
    arena a = {0};
    err e = {0};
    buf once = {0}, twice = {0};
    server_config again = {0};
    config_print(c, &once);
    MUST(!once.failed);
    MUST(config_read(buf_view(&once), &a, &again, &e));
    config_print(&again, &twice);
    MUST(str_eq(buf_view(&once), buf_view(&twice)));
    buf_free(&once);
    buf_free(&twice);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = 16 << 20};
    err e = {0};
    server_config c = {0};
    bool ok = config_read((str){(const char *)data, n}, &a, &c, &e);
    MUST(ok == (e.code == ERR_OK));
    MUST(ok || err_exhausted(&e) || !strncmp(e.msg, "line ", 5));
    if (ok) {
        (void)!config_check(&c, &e);
        read_again(&c);
    }
    arena_free(&a);
    return 0;
}
