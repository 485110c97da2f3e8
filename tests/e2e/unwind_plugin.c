/* A library that is loaded and unloaded while its caller is interrupted. */
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int plugin_work(int depth, int (*back)(int));

static int by_byte(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

int plugin_work(int depth, int (*back)(int))
{
    unsigned char v[64];
    for (size_t i = 0; i < sizeof v; i++) v[i] = (unsigned char)(i * 37 + (unsigned)depth);
    qsort(v, sizeof v, 1, by_byte);
    int r = depth > 0 ? plugin_work(depth - 1, back) : back(v[3]);
    return r + v[5];
}
