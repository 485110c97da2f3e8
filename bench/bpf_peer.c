/* Samples a process with the peer: bpf_peer PID SECONDS HZ.  Prints "accepted N ns_accepted N", the
 * run time of the program per accepted sample. */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <bpf_peer.skel.h>
#pragma GCC diagnostic pop

static int fail(const char *what)
{
    perror(what);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    uint32_t pid = (uint32_t)strtoul(argv[1], NULL, 10), hz = (uint32_t)strtoul(argv[3], NULL, 10);
    uint8_t yes = 1;
    struct bpf_peer *s = bpf_peer__open_and_load();
    if (!s) return fail("load");
    if (bpf_map_update_elem(bpf_map__fd(s->maps.followed), &pid, &yes, BPF_ANY)) return fail("pid");
    int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
        struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof a,
                                    .config = PERF_COUNT_SW_CPU_CLOCK,
                                    .sample_period = 1000000000 / hz};
        int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ENODEV) continue;
        if (fd < 0 || !bpf_program__attach_perf_event(s->progs.peer, fd)) return fail("attach");
    }
    usleep((useconds_t)(strtod(argv[2], NULL) * 1e6));
    struct bpf_prog_info info = {0};
    uint32_t n = sizeof info;
    if (stats < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(s->progs.peer), &info, &n))
        return fail("statistics");
    uint64_t accepted = s->bss->accepted;
    printf("accepted %" PRIu64 " ns_accepted %.0f\n", accepted,
           accepted ? (double)info.run_time_ns / (double)accepted : 0);
    return 0;
}
