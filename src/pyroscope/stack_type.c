/* The suffixes of application names by which clients without pprof state the type of a profile. */
#include "pyroscope/stack_type.h"

#include "base/ban.h"

#define TIME(name, type)                                                                           \
    {                                                                                              \
        STR(name), STR(type), STR("nanoseconds"), STR(type), STR("nanoseconds"), true              \
    }
#define MEMORY(type, unit)                                                                         \
    {                                                                                              \
        STR("memory"), STR(type), STR(unit), STR("space"), STR("bytes"), false                     \
    }
#define LOCK(name, type, unit)                                                                     \
    {                                                                                              \
        STR(name), STR(type), STR(unit), STR("contentions"), STR("count"), false                   \
    }

static const struct {
    str suffix;
    stack_type type;
} types[] = {
    {STR("cpu"), TIME("process_cpu", "cpu")},
    {STR("itimer"), TIME("process_cpu", "cpu")},
    {STR("wall"), TIME("wall", "wall")},
    {STR("inuse_objects"), MEMORY("inuse_objects", "count")},
    {STR("inuse_space"), MEMORY("inuse_space", "bytes")},
    {STR("alloc_objects"), MEMORY("alloc_objects", "count")},
    {STR("alloc_space"), MEMORY("alloc_space", "bytes")},
    {STR("alloc_in_new_tlab_objects"), MEMORY("alloc_in_new_tlab_objects", "count")},
    {STR("alloc_in_new_tlab_bytes"), MEMORY("alloc_in_new_tlab_bytes", "bytes")},
    {STR("alloc_outside_tlab_objects"), MEMORY("alloc_outside_tlab_objects", "count")},
    {STR("alloc_outside_tlab_bytes"), MEMORY("alloc_outside_tlab_bytes", "bytes")},
    {STR("live"), {STR("memory"), STR("live"), STR("count"), STR("objects"), STR("count"), false}},
    {STR("goroutines"),
     {STR("goroutine"), STR("goroutine"), STR("count"), STR("goroutine"), STR("count"), false}},
    {STR("mutex_count"), LOCK("mutex", "contentions", "count")},
    {STR("mutex_duration"), LOCK("mutex", "delay", "nanoseconds")},
    {STR("block_count"), LOCK("block", "contentions", "count")},
    {STR("block_duration"), LOCK("block", "delay", "nanoseconds")},
    {STR("lock_count"), LOCK("block", "contentions", "count")},
    {STR("lock_duration"), LOCK("block", "delay", "nanoseconds")},
    {STR("exceptions"), {STR("exceptions"), STR("samples"), STR("count"), {0}, {0}, false}},
};

stack_type stack_type_of(str name, str *app)
{
    const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
    *app = name;
    if (!dot || dot == name.p) return types[0].type;
    str suffix = {dot + 1, (size_t)(name.p + name.n - dot - 1)};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(types[i].suffix, suffix)) {
            *app = (str){name.p, (size_t)(dot - name.p)};
            return types[i].type;
        }
    return types[0].type;
}
