/* record/comm.h - names of threads, as a filter: NAME, or NAME* for those that begin so.  The kernel
 * keeps 15 bytes of a name, so further ones of NAME do not count. */
#pragma once
#include <stdint.h>
#include <string.h>

typedef struct record_comm {
    char bytes[16];
    uint32_t n; /* bytes to compare, with the final 0 if the whole name must be equal; 0: none */
} record_comm;

static inline record_comm record_comm_parse(const char *pattern)
{
    record_comm c = {0};
    size_t n = strlen(pattern), kept;
    int open = n && pattern[n - 1] == '*';
    n -= (size_t)open;
    kept = n < sizeof c.bytes - 1 ? n : sizeof c.bytes - 1;
    memcpy(c.bytes, pattern, kept);
    c.n = (uint32_t)kept + !open;
    return c;
}

/* name: at least 16 bytes. */
static inline int record_comm_matches(record_comm c, const char *name)
{
    return strncmp(c.bytes, name, c.n) == 0;
}
