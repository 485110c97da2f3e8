/* Finds the file of a command and checks whether it gains privileges. */
#include "sys/program.h"

#include "base/ban.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int why_not(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return errno;
    if (S_ISDIR(st.st_mode)) return EISDIR;
    if (!S_ISREG(st.st_mode)) return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

bool program_runnable(const char *path, err *e)
{
    int why = why_not(path);
    if (!why) return true;
    if (why == ENOENT || why == ENOTDIR) return err_sys(e, ENOENT, "program not found");
    return err_sys(e, why, "cannot be run");
}

static char *joined(str dir, const char *name, arena *a)
{
    size_t n = strlen(name);
    char *p = arena_alloc(a, dir.n + n + 3);
    if (!p) return NULL;
    if (!dir.n) dir = STR("."); /* an empty entry is the current directory */
    memcpy(p, dir.p, dir.n);
    p[dir.n] = '/';
    memcpy(p + dir.n + 1, name, n + 1);
    return p;
}

bool program_find(const char *name, arena *a, const char **path, err *e)
{
    *path = name;
    if (strchr(name, '/')) return program_runnable(name, e);
    const char *list = getenv("PATH");
    if (!list) list = "/bin:/usr/bin"; /* as execvp(3) */
    int worst = ENOENT;
    for (bool last = !*name; !last;) {
        size_t n = strcspn(list, ":");
        char *p = joined((str){list, n}, name, a);
        if (!p) return err_memory(e);
        int why = why_not(p);
        if (!why) {
            *path = p;
            return true;
        }
        if (why == EACCES) worst = why;
        last = !list[n];
        list += n + 1;
    }
    if (worst == ENOENT) return err_sys(e, ENOENT, "program not found in $PATH");
    return err_sys(e, worst, "cannot be run");
}

static bool nothing_gained_here(const char *path)
{
    struct statvfs fs;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return true;
    return statvfs(path, &fs) == 0 && fs.f_flag & ST_NOSUID;
}

program_gain program_gains(const char *path)
{
    struct stat st;
    char caps[64];
    if (stat(path, &st) != 0 || nothing_gained_here(path)) return PROGRAM_GAINS_NOTHING;
    if (st.st_mode & S_ISUID && st.st_uid != getuid()) return PROGRAM_GAINS_USER;
    /* setgid without execute permission of the group means mandatory locking */
    if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
        return PROGRAM_GAINS_GROUP;
    /* File capabilities add nothing to those of root. */
    if (getuid() != 0 && getxattr(path, "security.capability", caps, sizeof caps) > 0)
        return PROGRAM_GAINS_POWERS;
    return PROGRAM_GAINS_NOTHING;
}

void program_self(char *path, size_t n)
{
    ssize_t k = readlink("/proc/self/exe", path, n - 1);
    path[k > 0 ? k : 0] = '\0';
}
