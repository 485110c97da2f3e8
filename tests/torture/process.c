/* tests/torture/process.c - child processes and exec. */
#include "torture.h"

#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>

extern char **environ;

/* ---- fork ---- */

static _Noreturn void child_of(uint64_t seed, int status)
{
    torture_spin_us((unsigned)(seed % 2000));
    uint64_t sum = torture_malloc(seed, 50);
    MUST(sum == torture_malloc(seed, 50));
    if (seed & 1) exit(status);
    if (seed & 2) _exit(status);
    if (seed & 4) _Exit(status);
    syscall(SYS_exit_group, status);
    abort();
}

static int forks(torture *t)
{
    unsigned sum = 0;
    for (unsigned i = 0; torture_round(t, &i, 60);) {
        uint64_t seed = torture_random(t);
        int status = (int)(seed >> 20 & 127);
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            if (seed & 8) { /* with a grandchild */
                pid_t next = fork();
                MUST(next >= 0);
                if (!next) child_of(seed >> 4, status);
                status = torture_wait(next);
            }
            child_of(seed, status);
        }
        MUST(torture_wait(pid) == status);
        sum += (unsigned)status;
    }
    MUST(wait(NULL) == -1 && errno == ECHILD); /* the program has no other children */
    printf("%u\n", sum);
    return 3;
}

static int fork_crowd(torture *t)
{
    torture_crowd(6, true);
    int status = forks(t);
    torture_crowd_leave();
    return status;
}

static void *forks_in_thread(void *p)
{
    torture t = *(torture *)p;
    for (int i = 0; i < 6; i++) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) child_of(torture_random(&t), i);
        MUST(torture_wait(pid) == i);
    }
    return NULL;
}

/* Several threads fork at once. */
static int fork_threads(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 6);) {
        pthread_t threads[4];
        torture each[4];
        for (size_t k = 0; k < 4; k++) {
            each[k] = (torture){.random = torture_random(t)};
            MUST(!pthread_create(&threads[k], NULL, forks_in_thread, &each[k]));
        }
        for (size_t k = 0; k < 4; k++) MUST(!pthread_join(threads[k], NULL));
    }
    return 0;
}

/* The child continues: it starts threads, allocates, and exits normally. */
static int fork_lives_on(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 6);) {
        fflush(stdout);
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            torture_crowd(3, i & 1);
            torture_spin_us(30000);
            torture_crowd_leave();
            printf("child %u\n", i);
            exit((int)i);
        }
        MUST(torture_wait(pid) == (int)i);
    }
    return 0;
}

/* Forks that run no pthread_atfork handlers. */
static int fork_raw(torture *t)
{
    torture_crowd(2, false);
    for (unsigned i = 0; torture_round(t, &i, 60);) {
        pid_t pid = i & 1 ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : _Fork();
        MUST(pid >= 0);
        if (!pid) {
            torture_spin_us(2000);
            if (i & 2) _exit((int)i & 127);
            syscall(SYS_exit_group, (int)i & 127);
        }
        MUST(torture_wait(pid) == ((int)i & 127));
    }
    torture_crowd_leave();
    return 0;
}

/* ---- vfork, spawn, shells ---- */

static int vforks(torture *t)
{
    torture_crowd(2, false);
    for (unsigned i = 0; torture_round(t, &i, 60);) {
        int status = (int)i & 63;
        char text[32];
        snprintf(text, sizeof text, "exit %d", status);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        pid_t pid = vfork();
#pragma GCC diagnostic pop
        MUST(pid >= 0);
        if (!pid) {
            if (i & 1) _exit(status);
            execl("/nonexistent", "nonexistent", (char *)NULL);
            execl("/bin/sh", "sh", "-c", text, (char *)NULL);
            _exit(127);
        }
        MUST(torture_wait(pid) == status);
        torture_spin_us(500); /* still in the memory of this process */
    }
    torture_crowd_leave();
    return 0;
}

static int spawns(torture *t)
{
    torture_crowd(2, false);
    for (unsigned i = 0; torture_round(t, &i, 60);) {
        char text[32];
        snprintf(text, sizeof text, "exit %u", i & 63);
        char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
        pid_t pid = 0;
        posix_spawnattr_t attr;
        posix_spawnattr_init(&attr);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
        MUST(!posix_spawnp(&pid, "sh", NULL, &attr, argv, environ));
        posix_spawnattr_destroy(&attr);
        MUST(torture_wait(pid) == (int)(i & 63));
        MUST(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ) == ENOENT);
    }
    torture_crowd_leave();
    return 0;
}

static int shells(torture *t)
{
    torture_crowd(1, true);
    for (unsigned i = 0; torture_round(t, &i, 30);) {
        char text[64], line[64] = "";
        snprintf(text, sizeof text, "exit %u", i & 63);
        int status = system(text); // NOLINT(cert-env33-c): the case
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == (int)(i & 63));
        snprintf(text, sizeof text, "echo %u | cat; exit 5", i);
        FILE *p = popen(text, "r"); // NOLINT(cert-env33-c)
        MUST(p && fgets(line, sizeof line, p) && strtoul(line, NULL, 10) == i);
        MUST(WEXITSTATUS(pclose(p)) == 5);
    }
    torture_crowd_leave();
    return 0;
}

/* ---- exec ---- */

static unsigned chain_left(const torture *t)
{
    return t->arg ? (unsigned)strtoul(t->arg, NULL, 10) : 120 * t->percent / 100;
}

/* Execs repeatedly, with every function of the family, while being sampled: no signal of the old
 * image may reach the new one. */
static int exec_chain(torture *t)
{
    unsigned left = chain_left(t);
    if (!left) {
        puts("last image");
        return 7;
    }
    char seed[24], percent[12], next[12];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->seed);
    snprintf(percent, sizeof percent, "%u", t->percent);
    snprintf(next, sizeof next, "%u", left - 1);
    char name[] = "exec_chain", *self = strdup(t->self);
    char *const argv[] = {self, name, seed, percent, next, NULL};
    if (left % 4 == 0) torture_crowd(2, left % 8 == 0);
    torture_spin_us((unsigned)(t->seed + left * 37) % 1500);
    switch (left % 7) {
    case 0: execv(self, argv); break;
    case 1: execve(self, argv, environ); break;
    case 2: execvp(self, argv); break;
    case 3: execl(self, self, name, seed, percent, next, (char *)NULL); break;
    case 4: execlp(self, self, name, seed, percent, next, (char *)NULL); break;
    case 5: fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ); break;
    default: execvpe(self, argv, environ);
    }
    torture_failed(__FILE__, __LINE__, "exec returned");
}

static void *exec_from_thread(void *p)
{
    char *const *argv = p;
    torture_spin_us(300);
    execv(argv[0], argv);
    return NULL;
}

/* A thread other than the first calls exec: the others end, the pid stays. */
static int exec_thread(torture *t)
{
    unsigned left = chain_left(t);
    if (!left) return 9;
    char seed[24], percent[12], next[12], name[] = "exec_thread", *self = strdup(t->self);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->seed);
    snprintf(percent, sizeof percent, "%u", t->percent);
    snprintf(next, sizeof next, "%u", left - 1);
    char *const argv[] = {self, name, seed, percent, next, NULL};
    pthread_t thread;
    MUST(!pthread_create(&thread, NULL, exec_from_thread, (void *)(uintptr_t)argv));
    torture_spin_us(1000000);
    return 1;
}

/* An exec that fails changes nothing. */
static int exec_fails(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 400);) {
        char *const argv[] = {(char[]){"nothing"}, NULL};
        MUST(execv("/nonexistent", argv) == -1 && errno == ENOENT);
        MUST(execvp("no-such-program-here", argv) == -1 && errno == ENOENT);
        MUST(execve("/dev/null", argv, environ) == -1 && errno == EACCES);
        torture_spin_us(200);
    }
    return 0;
}

/* Runs short programs by fork and exec, one after another. */
static int exec_storm(torture *t)
{
    torture_crowd(2, false);
    for (unsigned i = 0; torture_round(t, &i, 80);) {
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            torture_spin_us((unsigned)(torture_random(t) % 300));
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        MUST(torture_wait(pid) == 0);
    }
    torture_crowd_leave();
    return 0;
}

/* A new image without the agent inherits signals and descriptors as without the agent. */
static int exec_inherits(torture *t)
{
    int mine = open("/dev/null", O_RDONLY);
    MUST(mine >= 0);
    torture_crowd(4, false);
    torture_spin_us(20000);
    for (unsigned i = 0; torture_round(t, &i, 12);) {
        fflush(stdout);
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            torture_spin_us(3000);
            char *const argv[] = {
                (char[]){"sh"}, (char[]){"-c"},
                (char[]){
                    "grep -E '^(Sig|Shd)[^Q]' /proc/self/status; "
                    "n=0; for f in /proc/$$/fd/*; do [ -e $f ] && n=$((n + 1)); done; echo $n"},
                NULL};
            char *const env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
            execve("/bin/sh", argv, env);
            _exit(127);
        }
        MUST(torture_wait(pid) == 0);
    }
    torture_crowd_leave();
    return 0;
}

/* ---- daemons and namespaces ---- */

static int daemons(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 5);) {
        int ends[2];
        char text[16] = "";
        MUST(!pipe(ends));
        pid_t pid = fork();
        MUST(pid >= 0);
        if (!pid) {
            MUST(!daemon(0, 0));
            torture_crowd(2, true);
            torture_spin_us(20000);
            torture_crowd_leave();
            MUST(write(ends[1], "alive", 5) == 5);
            exit(0);
        }
        close(ends[1]);
        MUST(torture_wait(pid) == 0);
        MUST(read(ends[0], text, sizeof text) == 5 && !strcmp(text, "alive"));
        /* the process has ended, and no other process holds the pipe */
        MUST(read(ends[0], text, sizeof text) == 0);
        close(ends[0]);
    }
    return 0;
}

static int in_child(int (*f)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid) exit(f());
    return torture_wait(pid);
}

static int work_and_threads(void)
{
    torture_crowd(2, true);
    torture_spin_us(10000);
    torture_crowd_leave();
    return 5;
}

static int in_chroot(void)
{
    if (chroot("/proc/self/fdinfo") || chdir("/")) return 77;
    return work_and_threads();
}

static int in_namespaces(void)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)) return 77;
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        if (getpid() != 1) _exit(78);
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (umount2("/proc", MNT_DETACH)) {} /* without /proc, threads cannot be listed */
        exit(work_and_threads());
    }
    return torture_wait(pid);
}

static int in_user_namespace(void)
{
    if (unshare(CLONE_NEWUSER)) return 77;
    return work_and_threads();
}

static int as_nobody(void)
{
    torture_crowd(2, true);
    if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) return 77;
    torture_spin_us(10000);
    torture_crowd_leave();
    return work_and_threads();
}

static int undumpable(void)
{
    MUST(!prctl(PR_SET_DUMPABLE, 0)); /* /proc/self belongs to root from here on */
    return work_and_threads();
}

static int other_worlds(torture *t)
{
    for (unsigned i = 0; torture_round(t, &i, 3);)
        printf("%d %d %d %d %d\n", in_child(in_chroot), in_child(in_namespaces),
               in_child(in_user_namespace), in_child(as_nobody), in_child(undumpable));
    return 0;
}

/* The program is stopped and continued while it is sampled. */
static int stop_continue(torture *t)
{
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        torture_crowd(4, true);
        torture_spin_us(300000);
        torture_crowd_leave();
        exit(6);
    }
    for (unsigned i = 0; torture_round(t, &i, 40);) {
        kill(pid, SIGSTOP);
        torture_sleep_us((unsigned)(torture_random(t) % 3000));
        kill(pid, SIGCONT);
        torture_sleep_us((unsigned)(torture_random(t) % 3000));
    }
    MUST(torture_wait(pid) == 6);
    return 0;
}

const torture_case process_cases[] = {
    {"fork", forks},
    {"fork_crowd", fork_crowd},
    {"fork_threads", fork_threads},
    {"fork_lives_on", fork_lives_on},
    {"fork_raw", fork_raw},
    {"vfork", vforks},
    {"spawn", spawns},
    {"shell", shells},
    {"exec_chain", exec_chain},
    {"exec_thread", exec_thread},
    {"exec_fails", exec_fails},
    {"exec_storm", exec_storm},
    {"exec_inherits", exec_inherits},
    {"daemon", daemons},
    {"other_worlds", other_worlds},
    {"stop_continue", stop_continue},
    {NULL, NULL},
};
