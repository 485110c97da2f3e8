/* weigh.c - the size of a model in memory, for bench/peers.
 *
 *     weigh FILE                      prints bytes
 *
 * Counts the bytes of its tables, columns and strings, without spare capacity and without memory
 * that is used only while reading. */
#include "base/arena.h"
#include "format/format.h"
#include "model/model.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t dict_bytes(const dict *d)
{
    size_t n = d->strings.n * sizeof *d->strings.v + d->mappings.n * sizeof *d->mappings.v +
               d->locations.n * sizeof *d->locations.v + d->functions.n * sizeof *d->functions.v +
               d->links.n * sizeof *d->links.v + d->attributes.n * sizeof *d->attributes.v +
               d->lines.n * sizeof *d->lines.v + d->attr_refs.n * sizeof *d->attr_refs.v +
               d->stacks.n * sizeof *d->stacks.v + d->frames.n * sizeof *d->frames.v;
    for (size_t i = 0; i < d->strings.n; i++) n += d->strings.v[i].n;
    return n;
}

static size_t profile_bytes(const profile *p)
{
    size_t columns = p->link ? 2u : 1u;
    columns +=
        (p->attr_span.off ? 1u : 0u) + (p->value_span.off ? 1u : 0u) + (p->time_span.off ? 1u : 0u);
    return sizeof *p + p->n_samples * columns * sizeof(uint32_t);
}

static size_t model_bytes(const model *m)
{
    size_t n = dict_bytes(&m->dict) + m->sample_attrs.n * sizeof *m->sample_attrs.v +
               m->values.n * sizeof *m->values.v + m->times.n * sizeof *m->times.v;
    for (size_t i = 0; i < m->profiles.n; i++) n += profile_bytes(&m->profiles.v[i]);
    return n;
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "usage: weigh FILE\n");
        return 2;
    }
    char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return 3;
    arena a = {0};
    document d;
    err e = {0};
    if (!format_read((str){p, (size_t)st.st_size}, NULL, &a, &d, &e)) {
        fprintf(stderr, "weigh: %s\n", e.msg);
        return 1;
    }
    printf("%zu\n", model_bytes(&d.model));
    arena_free(&a);
    munmap(p, (size_t)st.st_size);
    return 0;
}
