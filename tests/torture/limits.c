/* tests/torture/limits.c - limited resources: descriptors, memory, threads, system calls. */
#include "torture.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void work(void)
{
    torture_crowd(3, true);
    torture_spin_us(20000);
    torture_crowd_leave();
}

static void limit(__rlimit_resource_t what, rlim_t n)
{
    struct rlimit r = {n, n};
    MUST(!setrlimit(what, &r));
}

/* ---- descriptors ---- */

static int few_descriptors(torture *t)
{
    limit(RLIMIT_NOFILE, 16);
    for (unsigned i = 0; torture_round(t, &i, 6);) work();
    return 0;
}

static int no_descriptors(torture *t)
{
    (void)t;
    limit(RLIMIT_NOFILE, 3);
    for (int i = 0; i < 6; i++) work();
    return 0;
}

/* The program uses all descriptors.  It gets as many as without an agent, except for the few that
 * the agent uses. */
static int all_descriptors(torture *t)
{
    limit(RLIMIT_NOFILE, 256);
    for (unsigned i = 0; torture_round(t, &i, 6);) {
        int fds[256], n = 0;
        while (n < 256 && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
        MUST(n > 200);
        work();
        while (n > 0) MUST(!close(fds[--n]));
        work();
    }
    return 0;
}

static int thousands_of_descriptors(torture *t)
{
    enum { MANY = 4000 };
    static int fds[MANY];
    struct rlimit r;
    MUST(!getrlimit(RLIMIT_NOFILE, &r));
    r.rlim_cur = r.rlim_max;
    MUST(!setrlimit(RLIMIT_NOFILE, &r));
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        for (int k = 0; k < MANY; k++) MUST((fds[k] = open("/dev/null", O_RDONLY)) >= 0);
        work();
        for (int k = 0; k < MANY; k++) MUST(!close(fds[k]));
    }
    return 0;
}

/* Closes the agent's descriptor numbers and reuses them for files of the program: the agent must
 * not write to them or close them. */
static int closes_all(torture *t)
{
    enum { FILES = 60 };
    int fds[FILES];
    work();
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        closefrom(3);
        ino_t inodes[FILES];
        for (int k = 0; k < FILES; k++) {
            fds[k] = memfd_create("mine", MFD_CLOEXEC);
            struct stat s;
            MUST(fds[k] >= 0 && !fstat(fds[k], &s));
            inodes[k] = s.st_ino;
            MUST(write(fds[k], "content", 7) == 7);
        }
        work();
        torture_sleep_us(100000);
        for (int k = 0; k < FILES; k++) {
            struct stat s;
            char text[16] = "";
            MUST(!fstat(fds[k], &s));
            MUST(s.st_ino == inodes[k]);
            MUST(s.st_size == 7);
            MUST(lseek(fds[k], 0, SEEK_CUR) == 7);
            MUST(pread(fds[k], text, sizeof text, 0) == 7 && !strcmp(text, "content"));
        }
        for (int k = 0; k < FILES; k++) MUST(!close(fds[k]));
    }
    return 0;
}

/* tests/torture/run starts the program with the three standard descriptors closed; the program gets
 * these numbers in order. */
static int closed_standard(torture *t)
{
    if (!t->arg) { /* the first image closes them */
        char seed[24], name[] = "closed_standard", *self = strdup(t->self);
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->seed);
        char *const argv[] = {self, name, seed, (char[]){"100"}, (char[]){"again"}, NULL};
        close(0), close(1), close(2);
        execv(self, argv);
        return 1;
    }
    work();
    for (int i = 0; i < 3; i++)
        if (open("/dev/null", O_RDWR) != i) return 20 + i;
    work();
    return 30;
}

/* ---- memory, threads, signals ---- */

static int little_memory(torture *t)
{
    work();
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    MUST(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    limit(RLIMIT_AS, pages * 4096 + (48u << 20)); /* limit: the current size and a few stacks */
    for (unsigned i = 0; torture_round(t, &i, 6);) {
        MUST(mmap(NULL, 1ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
        work();
    }
    return 0;
}

static int no_pending_signals(torture *t)
{
    limit(RLIMIT_SIGPENDING, 0);
    for (unsigned i = 0; torture_round(t, &i, 6);) work();
    return 0;
}

/* Permits no new threads or processes, as a user other than root. */
static int no_new_threads(torture *t)
{
    work();
    if (setresgid(65533, 65533, 65533) || setresuid(65533, 65533, 65533)) return 77;
    limit(RLIMIT_NPROC, 1);
    for (unsigned i = 0; torture_round(t, &i, 20);) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)work, NULL);
        MUST(error == EAGAIN);
        torture_spin_us(2000);
        MUST(fork() == -1 && errno == EAGAIN);
    }
    return 0;
}

static int little_cpu(torture *t)
{
    (void)t;
    struct rlimit r = {1, 2};
    MUST(!setrlimit(RLIMIT_CPU, &r));
    torture_spin_us(5000000); /* SIGXCPU */
    return 1;
}

static int no_file_size(torture *t)
{
    MUST(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    limit(RLIMIT_FSIZE, 0); /* a write to a file would raise SIGXFSZ */
    for (unsigned i = 0; i < 20 * t->percent / 100; i++) work();
    return 12;
}

/* ---- system calls ---- */

static void filter(uint32_t action, unsigned long flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, action),
    };
    struct sock_fprog program = {COUNT(code), code};
    MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    MUST(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

/* Installs a filter that kills the process at any system call that the program does not use. */
static int filter_kills(torture *t)
{
    filter(SECCOMP_RET_KILL_PROCESS, 0);
    for (unsigned i = 0; torture_round(t, &i, 6);) work();
    return 0;
}

/* Installs a filter for all existing threads that makes other system calls fail with EPERM. */
static int filter_refuses(torture *t)
{
    work();
    filter(SECCOMP_RET_ERRNO | EPERM, SECCOMP_FILTER_FLAG_TSYNC);
    for (unsigned i = 0; torture_round(t, &i, 6);) work();
    return 0;
}

/* Enters strict mode, which permits the thread only read, write, exit and sigreturn. */
static void *strictly(void *p)
{
    MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    for (volatile unsigned i = 0; i < 60000000; i++) {}
    *(int *)p = 1;
    syscall(SYS_exit, 0);
    return NULL;
}

static int filter_strict(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 4);) {
        volatile int done = 0;
        pthread_t thread;
        MUST(!pthread_create(&thread, NULL, strictly, (void *)(uintptr_t)&done));
        pthread_detach(thread);
        while (!done) torture_sleep_us(1000);
    }
    return 0;
}

const torture_case limit_cases[] = {
    {"few_descriptors", few_descriptors},
    {"no_descriptors", no_descriptors},
    {"all_descriptors", all_descriptors},
    {"thousands_of_descriptors", thousands_of_descriptors},
    {"closes_all", closes_all},
    {"closed_standard", closed_standard},
    {"little_memory", little_memory},
    {"no_pending_signals", no_pending_signals},
    {"no_new_threads", no_new_threads},
    {"little_cpu", little_cpu},
    {"no_file_size", no_file_size},
    {"filter_kills", filter_kills},
    {"filter_refuses", filter_refuses},
    {"filter_strict", filter_strict},
    {NULL, NULL},
};
