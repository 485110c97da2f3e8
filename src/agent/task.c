/* Reads and parses the files of /proc/self/task without allocating. */
#include "agent/task.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/ban.h"

/* ---- words of a line ---- */

static str next_word(str *text)
{
    while (text->n && (*text->p == ' ' || *text->p == '\t')) text->p++, text->n--;
    str w = {text->p, 0};
    while (w.n < text->n && w.p[w.n] != ' ' && w.p[w.n] != '\n') w.n++;
    text->p += w.n;
    text->n -= w.n;
    return w;
}

static bool number(str w, unsigned base, uint64_t *out)
{
    *out = 0;
    if (base == 16 && str_starts(w, STR("0x"))) w.p += 2, w.n -= 2;
    if (!w.n) return false;
    for (size_t i = 0; i < w.n; i++) {
        int digit = hex_digit(w.p[i]);
        unsigned d = digit < 0 ? base : (unsigned)digit;
        if (d >= base || ckd_mul(out, *out, (uint64_t)base) || ckd_add(out, *out, (uint64_t)d))
            return false;
    }
    return true;
}

static bool signed_number(str w, int64_t *out)
{
    bool minus = w.n && *w.p == '-';
    uint64_t v;
    if (!number(minus ? (str){w.p + 1, w.n - 1} : w, 10, &v) || v > INT64_MAX) return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

/* ---- stat ---- */

enum {
    STAT_STATE = 3,
    STAT_NICE = 19,
    STAT_START = 22,
    STAT_RT_PRIORITY = 40,
    STAT_POLICY = 41,
    POLICY_FIFO = 1,
    POLICY_RR = 2,
};

static bool stat_fields(str rest, task_stat *out)
{
    int64_t nice = 0, v = 0, rt = 0;
    bool seen = false;
    for (int field = STAT_STATE; rest.n && field <= STAT_POLICY; field++) {
        str w = next_word(&rest);
        if (!w.n) break;
        if (field == STAT_STATE) {
            if (w.n != 1) return false;
            out->state = *w.p;
            continue;
        }
        if (field != STAT_NICE && field != STAT_START && field < STAT_RT_PRIORITY) continue;
        if (!signed_number(w, &v)) return false;
        if (field == STAT_NICE) nice = v;
        if (field == STAT_START) out->start_ticks = (uint64_t)v, seen = true;
        if (field == STAT_RT_PRIORITY) rt = v;
    }
    bool real_time = v == POLICY_FIFO || v == POLICY_RR; /* the last field read is the policy */
    out->os_prio = (int32_t)(seen && real_time ? rt : nice);
    return seen;
}

bool task_stat_parse(str text, task_stat *out)
{
    *out = (task_stat){0};
    const char *open = text.n ? memchr(text.p, '(', text.n) : NULL;
    const char *close = text.n ? memrchr(text.p, ')', text.n) : NULL;
    if (!open || !close || close < open) return false;
    task_name_clean((str){open + 1, (size_t)(close - open - 1)}, out->name);
    return stat_fields((str){close + 1, text.n - (size_t)(close + 1 - text.p)}, out);
}

void task_name_clean(str raw, char out[TASK_NAME])
{
    size_t n = 0;
    while (raw.n && n + 1 < TASK_NAME) {
        size_t ok = utf8_valid(raw.p, raw.n < 4 ? raw.n : 4);
        size_t len = !ok                            ? 1
                     : (unsigned char)*raw.p < 0x80 ? 1
                     : (unsigned char)*raw.p < 0xe0 ? 2
                     : (unsigned char)*raw.p < 0xf0 ? 3
                                                    : 4;
        if (n + len >= TASK_NAME) break;
        bool plain = ok && ((unsigned char)*raw.p >= 0x20 && *raw.p != 0x7f);
        if (plain && len == 2 && (unsigned char)*raw.p == 0xc2 && (unsigned char)raw.p[1] < 0xa0)
            plain = false; /* control characters of Latin-1 */
        if (plain)
            memcpy(out + n, raw.p, len), n += len;
        else
            out[n++] = '?';
        raw.p += len;
        raw.n -= len;
    }
    out[n] = 0;
}

/* ---- status, syscall ---- */

typedef struct status_key {
    str key;
    unsigned base;
    size_t at; /* offset of a uint64_t in task_status */
} status_key;

#define STATUS_KEY(literal)                                                                        \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
static const status_key status_keys[] = {
    {STATUS_KEY("SigBlk:"), 16, offsetof(task_status, blocked)},
    {STATUS_KEY("Seccomp:"), 10, offsetof(task_status, seccomp)},
    {STATUS_KEY("Seccomp_filters:"), 10, offsetof(task_status, filters)},
    {STATUS_KEY("voluntary_ctxt_switches:"), 10, offsetof(task_status, switches)},
};

static bool status_line(str line, task_status *out, bool *blocked)
{
    for (size_t i = 0; i < ARRAY_LEN(status_keys); i++) {
        const status_key *k = &status_keys[i];
        if (!str_starts(line, k->key)) continue;
        line = (str){line.p + k->key.n, line.n - k->key.n};
        if (!number(next_word(&line), k->base, (uint64_t *)(void *)((char *)out + k->at)))
            return false;
        *blocked |= i == 0;
        break;
    }
    return true;
}

bool task_status_parse(str text, task_status *out)
{
    bool blocked = false;
    *out = (task_status){0};
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        str line = {text.p, end ? (size_t)(end - text.p) : text.n};
        text.p += line.n + (end != NULL);
        text.n -= line.n + (end != NULL);
        if (!status_line(line, out, &blocked)) return false;
    }
    return blocked;
}

bool task_status_filtered(const task_status *now, const task_status *before)
{
    return now->seccomp > before->seccomp || now->filters > before->filters;
}

/* Formats: "202 0x7f... five more sp pc"; "-1 sp pc" for a thread that waits outside of a call;
 * "running". */
bool task_wait_parse(str text, task_wait *out)
{
    uint64_t v[9];
    size_t n = 0;
    str rest = text;
    *out = (task_wait){0};
    for (; n < ARRAY_LEN(v); n++) {
        str w = next_word(&rest);
        if (!w.n) break;
        if (n == 0 && str_eq(w, STR("-1")))
            v[n] = UINT64_MAX;
        else if (!number(w, n ? 16 : 10, &v[n]))
            return false;
    }
    if (n != 9 && n != 3) return false;
    *out = (task_wait){hash_bytes(text.p, text.n, 0), v[n - 2], v[n - 1]};
    return true;
}

uint64_t task_schedstat_parse(str text)
{
    uint64_t ran;
    return number(next_word(&text), 10, &ran) ? ran : 0;
}

/* ---- reading ---- */

int task_open(void) { return open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

typedef struct task_entry { /* linux_dirent64 */
    uint64_t ino;
    int64_t off;
    uint16_t bytes;
    uint8_t type;
    char name[];
} task_entry;

static int by_tid(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The kernel lists threads in order of creation, which is ascending until the ids wrap around. */
static void sort_tids(uint32_t *tids, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (tids[i - 1] < tids[i]) continue;
        qsort(tids, n, sizeof *tids, by_tid);
        return;
    }
}

bool task_list(int dir, uint32_t *tids, size_t max, size_t *n, bool *more)
{
    _Alignas(8) char buf[8192];
    *n = 0;
    *more = false;
    if (lseek(dir, 0, SEEK_SET) != 0) return false;
    for (;;) {
        long got = syscall(SYS_getdents64, dir, buf, sizeof buf);
        if (got < 0) return false;
        if (got == 0) break;
        for (long at = 0; at < got;) {
            const task_entry *d = (const task_entry *)(const void *)(buf + at);
            uint64_t tid;
            at += d->bytes;
            if (!number(str_of(d->name), 10, &tid) || tid > INT32_MAX) continue;
            if (*n < max)
                tids[(*n)++] = (uint32_t)tid;
            else
                *more = true;
        }
    }
    sort_tids(tids, *n);
    return true;
}

str task_read(int dir, uint32_t tid, const char *file, char *buf, size_t n)
{
    char path[48];
    snprintf(path, sizeof path, "%u/%s", tid, file);
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return (str){buf, 0};
    ssize_t got = pread(fd, buf, n, 0);
    close(fd);
    return (str){buf, got > 0 ? (size_t)got : 0};
}

clockid_t task_clock(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
} /* clock id of a thread's CPU time (CPUCLOCK_SCHED) */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t task_cpu(uint32_t tid) { return read_clock(task_clock(tid)); }

uint64_t task_cpu_process(uint32_t pid) { return read_clock((clockid_t)(~pid << 3 | 2)); }
