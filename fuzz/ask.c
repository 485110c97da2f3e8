/* What may be asked of the query API: any target of a request is taken apart or refused with a reason, and so is any selector. */
#include "server/params.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                    \
    do                                                                                             \
        if (!(x)) abort();                                                                         \
    while (0)

#define NOW UINT64_C(1790000000000000000)

static void selector(str text, arena *a)
{
    err e = {0};
    store_selector q = {0};
    bool ok = store_selector_parse(text, a, &q, &e);
    MUST(ok == (e.code == ERR_OK));
    MUST(ok || (e.msg[0] && (e.offset == NO_OFFSET || e.offset <= text.n)));
}

/* "/a/b" and nothing that climbs. */
static void path_is_plain(str path)
{
    MUST(path.n && path.p[0] == '/');
    for (size_t i = 0; i + 2 < path.n; i++) {
        bool dots = path.p[i] == '/' && path.p[i + 1] == '.' && path.p[i + 2] == '.';
        MUST(!dots || (i + 3 < path.n && path.p[i + 3] != '/'));
    }
}

static void target(str text, arena *a)
{
    err e = {0};
    params p = {0};
    bool ok = params_parse(text, a, &p, &e);
    MUST(ok == (e.code == ERR_OK));
    if (!ok) return;
    path_is_plain(p.path);
    MUST(p.v.n <= PARAMS_MAX);
    for (size_t i = 0; i < p.v.n; i++) {
        char key[64];
        uint64_t v = 0;
        bool flag = false;
        if (p.v.v[i].key.n >= sizeof key || memchr(p.v.v[i].key.p, 0, p.v.v[i].key.n)) continue;
        memcpy(key, p.v.v[i].key.p, p.v.v[i].key.n);
        key[p.v.v[i].key.n] = '\0';
        MUST(params_get(&p, key).n <= text.n);
        e = (err){0};
        MUST(params_number(&p, key, 1000, &v, &e) ? v <= 1000 : e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_flag(&p, key, &flag, &e) || e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_time(&p, key, NOW, &v, &e) || e.code == ERR_USAGE);
        e = (err){0};
        MUST(params_duration(&p, key, &v, &e) || e.code == ERR_USAGE);
        selector(p.v.v[i].value, a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    arena a = {.budget = (size_t)16 << 20};
    str in = {(const char *)data, n};
    target(in, &a);
    selector(in, &a);
    arena_free(&a);
    return 0;
}
