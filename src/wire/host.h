/* wire/host.h - values of the attributes host.arch and container.id, as the semantic conventions
 * define them.  Pure. */
#pragma once
#include "base/str.h"

/* Maps the machine name of uname(2) to a value of host.arch; returns unknown names unchanged. */
static inline str host_arch_of(str machine)
{
    static const struct {
        const char *uname, *otel;
    } known[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "x86"},     {"i386", "x86"},
                 {"armv7l", "arm32"}, {"armv6l", "arm32"},  {"ppc64le", "ppc64"}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(machine, str_of(known[i].uname))) return str_of(known[i].otel);
    return machine;
}

/* Returns the container id in a cgroup path or mountinfo: the first run of 64 lower-case
 * hexadecimal digits (docker, containerd, cri-o, podman); empty when there is none. */
static inline str container_id_of(str text)
{
    for (size_t i = 0, run = 0; i < text.n; i++) {
        char c = text.p[i];
        run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
        if (run == 64) return (str){text.p + (i - 63), 64};
    }
    return (str){0};
}
