/* cost.c - counts the allocations of one conversion, for bench/otep.
 *
 *     cost FORMAT FILE     prints "allocations peak_bytes"
 *
 * Counts reading and decompressing FILE and writing it as FORMAT, but not the bytes of the file. */
#include "base/arena.h"
#include "base/buf.h"
#include "format/format.h"
#include "measure.h"
#include <inttypes.h>
#include <stdio.h>

static bool convert(const format *to, const material *in, err *e)
{
    arena a = {0};
    document d;
    buf out = {0};
    bool ok = format_read((str){(const char *)in->p, in->n}, NULL, &a, &d, e) &&
              to->write(to, &d.model, &(write_opts){0}, &out, e);
    buf_free(&out);
    arena_free(&a);
    return ok;
}

int main(int argc, char **argv)
{
    const format *to = argc == 3 ? format_named(str_of(argv[1])) : NULL;
    material in;
    err e = {0};
    if (!to || !to->write) {
        fprintf(stderr, "usage: cost FORMAT FILE\n");
        return 2;
    }
    if (!material_load(argv[2], &in)) return 3;
    alloc_count before = alloc_counted();
    size_t resident = memory_mark();
    if (!convert(to, &in, &e)) {
        fprintf(stderr, "cost: %s: %s\n", argv[2], e.msg);
        return 1;
    }
    size_t peak = memory_peak(resident);
    alloc_count after = alloc_counted();
    printf("%" PRIu64 " %zu\n", after.mallocs - before.mallocs + after.maps - before.maps, peak);
    material_free(&in);
    return 0;
}
