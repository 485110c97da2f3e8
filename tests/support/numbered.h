/* tests/support/numbered.h - profiles with a number, to count them in a store. Their id and time
 * encode the number. */
#pragma once
#include "store_models.h"
#include "model/builder.h"

static inline bool numbered_model(arena *a, uint64_t number, model *out)
{
    builder b;
    err e = {0};
    if (!builder_init(&b, a)) return false;
    char name[32];
    int n = snprintf(name, sizeof name, "service-%llu", (unsigned long long)(number % 3));
    keyvalue kv = {.key = STR("service.name"),
                   .value = {.kind = ANY_STRING, .n = (uint32_t)n, .s = name}};
    builder_resource(&b, &(resource){.attrs = {&kv, 1}, .present = true});
    builder_scope(&b, NULL);
    value_type type = {builder_string(&b, STR("cpu")), builder_string(&b, STR("nanoseconds"))};
    profile *p = builder_profile(&b);
    p->sample_type = type;
    p->has_sample_type = true;
    p->time_unix_nano = 1 + number;
    if (number % 2)
        memcpy(p->profile_id, &(uint64_t[2]){number, ~number},
               16); /* the others are identified by their content */
    for (uint32_t i = 0; i < 40; i++) {
        function f = {.name = builder_string(&b, (str){&"abcdefghijklmnop"[(number + i) % 8], 8})};
        line l = {.function = builder_function(&b, &f)};
        uint32_t at = builder_location(&b, 0, i * 16, &l, 1, NULL, 0);
        builder_sample(&b, &(sample){.stack = builder_stack(&b, &at, 1),
                                     .values = &(int64_t){1},
                                     .n_values = 1,
                                     .times = &(uint64_t){1 + number},
                                     .n_times = 1});
    }
    return builder_finish(&b, out, &e);
}

/* Counts how often each number below n is in the store. Sets *damaged to the number of blocks and
 * items that cannot be read. */
static inline bool numbered_read(store_reader *r, uint32_t *count, uint64_t n, uint64_t *damaged,
                                 err *e)
{
    arena a = {0};
    model m;
    store_read_result x = {0};
    bool ok = store_read(r, &(store_selector){0}, NULL, &a, &m, &x, e);
    for (size_t i = 0; ok && i < m.profiles.n; i++) {
        uint64_t number = m.profiles.v[i].time_unix_nano - 1;
        if (number < n && m.profiles.v[i].n_samples == 40) count[number]++;
    }
    if (ok && x.partial && !x.n_damaged) ok = err_set(e, ERR_LIMIT, "not all was read: %s", x.why);
    *damaged = x.n_damaged;
    arena_free(&a);
    return ok;
}

/* Counts the numbers in a store that must not be damaged. */
static inline bool numbered_count(store_reader *r, uint32_t *count, uint64_t n, err *e)
{
    uint64_t damaged;
    if (!numbered_read(r, count, n, &damaged, e)) return false;
    return !damaged || err_set(e, ERR_MALFORMED, "%llu blocks or items are damaged",
                               (unsigned long long)damaged);
}
