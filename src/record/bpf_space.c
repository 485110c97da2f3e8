/* Publishes the mappings of processes to the BPF programs.
 *
 * All mappings are in one array.  A process gets a new range of it, then its entry in the map
 * `spaces` is replaced in one step; walks that began before may still read the old range, so it is
 * reused only after a grace period. */
#include "record/bpf_internal.h"

#include "record/bpf_skeleton.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/ban.h"

/* MEMBARRIER_CMD_GLOBAL waits for a grace period of RCU, in which every BPF program runs. */
void bpf_grace(void *ctx)
{
    (void)ctx;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) usleep(100 * 1000);
}

static int spaces_fd(const bpf_source *s) { return bpf_map__fd(s->programs->maps.spaces); }

/* ---- ranges ---- */

static void free_retired(bpf_source *s)
{
    if (!s->retired.n) return;
    bpf_grace(s);
    for (size_t i = 0; i < s->retired.n; i++)
        memset(s->blocks + s->retired.v[i].first, 0, s->retired.v[i].n);
    s->retired.n = s->n_retired = 0;
}

static bool find_blocks(const bpf_source *s, size_t n, size_t *first)
{
    size_t run = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        run = s->blocks[i] ? 0 : run + 1;
        if (run == n) return *first = i + 1 - n, true;
    }
    return false;
}

static bool take_blocks(bpf_source *s, size_t n, size_t *first)
{
    if (s->n_retired > s->n_blocks / 4) free_retired(s);
    if (!find_blocks(s, n, first)) {
        free_retired(s);
        if (!find_blocks(s, n, first)) return false;
    }
    memset(s->blocks + *first, 1, n);
    return true;
}

static size_t blocks_of(size_t n) { return n ? (n + SPACE_BLOCK - 1) / SPACE_BLOCK : 1; }

static void retire(bpf_source *s, const struct bpf_space *old)
{
    for (uint32_t i = 0; i < old->n; i++) table_release(s->tables, s->ranges[old->first + i].table);
    space_extent *x = vec_push(&s->a, &s->retired);
    if (!x) return; /* without memory the range stays unused */
    *x = (space_extent){.first = old->first / SPACE_BLOCK, .n = (uint32_t)blocks_of(old->n)};
    s->n_retired += x->n;
}

/* ---- spaces ---- */

static void put_place(struct bpf_space *to, const bpf_span_place *p)
{
    if (!p || p->at.kind == SPAN_NOWHERE) return;
    to->span = p->at.kind == SPAN_STATIC ? BPF_SPAN_STATIC
               : p->musl                 ? BPF_SPAN_MUSL
                                         : BPF_SPAN_GLIBC;
    to->span_offset = p->at.offset;
    to->span_module = p->at.module;
}

void bpf_space_drop(bpf_source *s, uint32_t pid)
{
    struct bpf_space old;
    if (bpf_map_lookup_elem(spaces_fd(s), &pid, &old) != 0) return;
    bpf_map_delete_elem(spaces_fd(s), &pid);
    retire(s, &old);
}

bool bpf_space_put(bpf_source *s, uint32_t pid, const bpf_mapping *v, size_t n,
                   const bpf_span_place *place, err *e)
{
    struct bpf_space old, space = {.n = (uint32_t)n, .serial = ++s->serial & 0xfffff};
    size_t first;
    if (!take_blocks(s, blocks_of(n), &first)) {
        bpf_space_drop(s, pid);
        return err_set(e, ERR_LIMIT, "process %u: more than %zu mappings in all processes", pid,
                       s->n_ranges);
    }
    space.first = (uint32_t)first * SPACE_BLOCK;
    for (size_t i = 0; i < n; i++) {
        s->ranges[space.first + i] = (struct bpf_range){
            .start = v[i].start, .end = v[i].end, .bias = v[i].bias, .table = v[i].table};
        table_keep(s->tables, v[i].table);
    }
    put_place(&space, place);
    bool had = bpf_map_lookup_elem(spaces_fd(s), &pid, &old) == 0;
    if (bpf_map_update_elem(spaces_fd(s), &pid, &space, BPF_ANY) != 0) {
        int sys = errno;
        retire(s, &space);
        return err_sys(e, sys, "process %u: the kernel rejects its mappings", pid);
    }
    if (had) retire(s, &old);
    return true;
}

table_store *bpf_tables(bpf_source *s) { return s->tables; }
