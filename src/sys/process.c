/* Reads other processes: /proc, memory, and threads stopped with ptrace. */
#include "sys/process.h"

#include "arch/ptrace.h"
#include "base/ban.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- /proc ---- */

static bool fail(err *e, int pid, int why, const char *what)
{
    if (why == ENOENT || why == ESRCH) return err_sys(e, ESRCH, "cannot inspect process %d", pid);
    return err_sys(e, why, "cannot read %s of process %d", what, pid);
}

/* Keeps whole lines only, because the content may change between two reads and then begin in the
 * middle of a line. */
static bool read_all(int fd, arena *a, str *out, int *why)
{
    size_t cap = 1 << 16, n = 0;
    char *p = arena_alloc(a, cap);
    for (ssize_t k = 1; p && k > 0 && n<PROCESS_MAPS_BYTES; n += k> 0 ? (size_t)k : 0) {
        if (cap - n < 1 << 15) {
            p = arena_grow(a, p, cap, cap * 2);
            cap *= 2;
        }
        k = p ? read(fd, p + n, cap - n) : 0;
        *why = k < 0 ? errno : 0;
    }
    if (!p) *why = ENOMEM;
    *out = (str){p, p ? n : 0};
    return *why == 0;
}

bool process_maps(int pid, arena *a, str *out, err *e)
{
    char path[64];
    int why = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(e, pid, errno, "the memory map");
    bool ok = read_all(fd, a, out, &why);
    close(fd);
    return ok || fail(e, pid, why, "the memory map");
}

uint32_t process_of_thread(uint32_t tid)
{
    char path[32], text[512]; /* Tgid follows the name, which has up to 64 bytes */
    snprintf(path, sizeof path, "/proc/%u/status", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, "\nTgid:\t"); /* the kernel escapes newlines of the name */
    return at ? (uint32_t)strtoul(at + 7, NULL, 10) : 0;
}

/* Numbers of fields of /proc/PID/stat after the state, and a flag of the kernel. */
enum { STAT_FLAGS = 9 - 3, STAT_THREADS = 20 - 3, KERNEL_THREAD = 0x200000 };

/* Reads /proc/PID/stat and returns the state and what follows; NULL: not readable, *why is the
 * reason. */
static const char *read_stat(uint32_t pid, char *text, size_t size, int *why)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *why = fd < 0 ? errno : 0;
    if (fd < 0) return NULL;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')');
    return at && at[1] == ' ' ? at + 2 : NULL;
}

static long field_of(const char *at, int number)
{
    for (int i = 0; at && i < number; i++) at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at ? strtol(at, NULL, 10) : 0;
}

bool process_is_alive(uint32_t pid)
{
    char text[512];
    int why;
    const char *state = read_stat(pid, text, sizeof text, &why);
    if (why) return why != ENOENT && why != ESRCH;
    if (!state) return false;
    return (*state != 'Z' && *state != 'X') || field_of(state, STAT_THREADS) > 1;
}

bool process_is_kernel_thread(uint32_t pid)
{
    char text[512];
    int why;
    return field_of(read_stat(pid, text, sizeof text, &why), STAT_FLAGS) & KERNEL_THREAD;
}

static int by_number(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

bool process_threads(int pid, arena *a, u32s *out, err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    if (!d) return fail(e, pid, errno, "the threads");
    bool ok = true;
    for (struct dirent *t; ok && (t = readdir(d));) {
        if (t->d_name[0] == '.') continue;
        uint32_t *slot = vec_push(a, out);
        ok = slot != NULL;
        if (slot) *slot = (uint32_t)strtoul(t->d_name, NULL, 10);
    }
    closedir(d);
    if (!ok) return err_set(e, ERR_LIMIT, "process %d has too many threads", pid);
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_number);
    return out->n || fail(e, pid, ESRCH, "the threads");
}

void process_thread_name(int pid, uint32_t tid, char name[PROCESS_NAME_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u/comm", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, PROCESS_NAME_BYTES - 1);
    if (fd >= 0) close(fd);
    if (n > 0 && name[n - 1] == '\n') n--;
    name[n > 0 ? n : 0] = '\0';
}

/* ---- memory ---- */

bool process_read(int pid, uint64_t address, void *p, size_t n)
{
    struct iovec to = {p, n};
    struct iovec from = {(void *)(uintptr_t)address, n};
    ssize_t k = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (k >= 0 && (size_t)k != n) errno = EFAULT;
    return k >= 0 && (size_t)k == n;
}

/* ---- threads ---- */

enum { STOP_QUICK = 100, STOP_MS = 1000 }; /* attempts: immediate ones, then one per ms */

static bool cannot_stop(err *e, uint32_t tid, int why)
{
    if (why == EPERM)
        return err_sys(e, why, "cannot stop thread %u (another user's, or under a debugger)", tid);
    return err_sys(e, why, "cannot stop thread %u", tid);
}

/* Waits for a limited time, because a thread deep in the kernel (a dead disk, a vfork) stops only
 * when it returns. */
static pid_t wait_a_while(uint32_t tid, int *status)
{
    pid_t got = 0;
    for (unsigned i = 0; !got && i < STOP_QUICK + STOP_MS; i++) {
        got = waitpid((pid_t)tid, status, __WALL | WNOHANG);
        if (got) break;
        if (i < STOP_QUICK)
            sched_yield();
        else
            process_pause_ms(1);
    }
    return got;
}

/* Returns 0, or the reason why the thread did not stop.  A signal that arrives before the stop is
 * forwarded. */
static int wait_for_stop(uint32_t tid)
{
    for (;;) {
        int status;
        pid_t got = wait_a_while(tid, &status);
        if (got == 0) return ETIMEDOUT;
        if (got < 0 || !WIFSTOPPED(status)) return ESRCH;
        if (status >> 16 == PTRACE_EVENT_STOP) return 0;
        if (ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)WSTOPSIG(status)) < 0) return errno;
    }
}

bool process_stop(uint32_t tid, err *e)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) return cannot_stop(e, tid, errno);
    int why = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? errno : wait_for_stop(tid);
    if (!why) return true;
    process_resume(tid); /* a running thread is released when this process ends */
    return cannot_stop(e, tid, why);
}

void process_resume(uint32_t tid) { ptrace(PTRACE_DETACH, tid, NULL, NULL); }

bool process_thread_pointer(uint32_t tid, uint64_t *tp, err *e)
{
    arch_tp_regs regs = {0};
    struct iovec to = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)ARCH_TP_SET, &to) < 0)
        return cannot_stop(e, tid, errno);
    if (to.iov_len != sizeof regs)
        return err_set(e, ERR_UNSUPPORTED, "thread %u runs 32-bit code", tid);
    *tp = arch_tp_of(&regs);
    return true;
}

void process_pause_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}
