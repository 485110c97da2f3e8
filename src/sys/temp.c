/* A temporary directory that signal handlers remove. */
#include "sys/temp.h"

#include "base/ban.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/* Read by the signal handler; "" when there is no directory. */
static char dir_path[4096];
static char also_path[256], also_dir[256]; /* "" when there is none */
static struct sigaction before[ARRAY_LEN(ending)];

/* A directory entry as getdents64(2) returns it. */
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} entry;

/* Uses only calls of signal-safety(7) and getdents64, because opendir allocates. */
static void remove_files(void)
{
    int fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _Alignas(entry) char some[8192];
    for (long n; fd >= 0 && (n = syscall(SYS_getdents64, fd, some, sizeof some)) > 0;)
        for (long at = 0; at < n;) {
            const entry *x = (const entry *)(const void *)(some + at);
            if (x->name[0] != '.') (void)unlinkat(fd, x->name, 0);
            at += x->length;
        }
    if (fd >= 0) close(fd);
}

static void forget_all(void) { dir_path[0] = also_path[0] = also_dir[0] = '\0'; }

static void remove_all(void)
{
    enum { TRIES = 8 }; /* a process that still runs may write a file in between */
    for (int i = 0; dir_path[0] && i < TRIES; i++) {
        remove_files();
        if (rmdir(dir_path) == 0 || errno != ENOTEMPTY) break;
    }
    if (dir_path[0] && also_path[0]) (void)unlink(also_path);
    if (dir_path[0] && also_dir[0]) (void)rmdir(also_dir);
    forget_all();
}

static void on_ending(int sig)
{
    remove_all();
    signal(sig, SIG_DFL);
    raise(sig); /* delivered when the handler returns */
}

static void guard(void)
{
    for (size_t i = 0; i < ARRAY_LEN(ending); i++) {
        struct sigaction now = {.sa_handler = on_ending};
        sigfillset(&now.sa_mask);
        sigaction(ending[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(ending[i], &now, NULL);
    }
}

const char *temp_open(const char *name, err *e)
{
    const char *where = getenv("TMPDIR");
    if (!where || !*where) where = "/tmp";
    char here[2048] = "";
    if (where[0] != '/' && !getcwd(here, sizeof here)) here[0] = '\0';
    int n = snprintf(dir_path, sizeof dir_path, "%s%s%s/%s.XXXXXX", here, here[0] ? "/" : "", where,
                     name);
    if (n < 0 || (size_t)n >= sizeof dir_path || !mkdtemp(dir_path)) {
        int why = n > 0 && (size_t)n >= sizeof dir_path ? ENAMETOOLONG : errno;
        dir_path[0] = '\0';
        err_sys(e, why, "cannot create a temporary directory in %.100s (TMPDIR)", where);
        return NULL;
    }
    guard();
    return dir_path;
}

/* Stores a path so that a handler sees all of it or none. */
static void keep_path(char *to, const char *path)
{
    memcpy(to + 1, path + 1, strlen(path));
    to[0] = path[0];
}

void temp_also(const char *path, const char *dir)
{
    if (strlen(path) >= sizeof also_path || (dir && strlen(dir) >= sizeof also_dir)) return;
    keep_path(also_path, path);
    if (dir) keep_path(also_dir, dir);
}

/* Calls `last` with signals blocked, so that a handler does not run at the same time. */
static void end_with(void (*last)(void))
{
    if (!dir_path[0]) return;
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);
    last();
    for (size_t i = 0; i < ARRAY_LEN(ending); i++) sigaction(ending[i], &before[i], NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

void temp_close(void) { end_with(remove_all); }

void temp_leave(void) { end_with(forget_all); }
