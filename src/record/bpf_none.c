/* The BPF source of a kiln that was built without BPF: bpf_open() fails, so the other functions are
 * never called. */
#include "record/bpf.h"

#include "base/ban.h"

bpf_source *bpf_open(const bpf_opts *o, err *e)
{
    (void)o;
    err_set(e, ERR_UNSUPPORTED, "this kiln was built without BPF");
    return NULL;
}

void bpf_close(bpf_source *s) { (void)s; }
bool bpf_follow(bpf_source *s, uint32_t pid, bool on, err *e)
{
    return (void)s, (void)pid, (void)on, (void)e, false;
}
bool bpf_exclude(bpf_source *s, uint32_t pid, err *e) { return (void)s, (void)pid, (void)e, false; }
bool bpf_start(bpf_source *s, err *e) { return (void)s, (void)e, false; }
void bpf_end(bpf_source *s, uint64_t time) { (void)s, (void)time; }
void bpf_stop(bpf_source *s) { (void)s; }
int bpf_fd(const bpf_source *s) { return (void)s, -1; }
bool bpf_drain(bpf_source *s, bpf_on_event *f, void *ctx, err *e)
{
    return (void)s, (void)f, (void)ctx, (void)e, false;
}
bool bpf_dump(bpf_source *s, bpf_on_event *f, void *ctx, err *e)
{
    return (void)s, (void)f, (void)ctx, (void)e, false;
}
size_t bpf_stack_bytes(const bpf_source *s)
{
    (void)s;
    return 0;
}

bpf_counts bpf_count(bpf_source *s) { return (void)s, (bpf_counts){0}; }
size_t bpf_run_time(bpf_source *s, bpf_cost v[BPF_PROGRAMS]) { return (void)s, (void)v, 0; }
bool bpf_space_put(bpf_source *s, uint32_t pid, const bpf_mapping *v, size_t n,
                   const bpf_span_place *place, err *e)
{
    return (void)s, (void)pid, (void)v, (void)n, (void)place, (void)e, false;
}
void bpf_space_drop(bpf_source *s, uint32_t pid) { (void)s, (void)pid; }
table_store *bpf_tables(bpf_source *s) { return (void)s, NULL; }
