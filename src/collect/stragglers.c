/* Finds processes of a run by a variable in their environment. */
#include "collect/stragglers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/ban.h"

enum { PIECE = 16384 };

/* Reads in overlapping pieces, so that a setting that crosses a boundary is found. */
static bool has_setting(int fd, const char *setting)
{
    char text[PIECE];
    size_t n = strlen(setting) + 1; /* including the terminator */
    for (off_t at = 0;;) {
        ssize_t got = pread(fd, text, sizeof text, at);
        if (got < (ssize_t)n) return false;
        const char *found = memmem(text, (size_t)got, setting, n);
        if (found && (found == text ? at == 0 : found[-1] == '\0')) return true;
        at += got - (ssize_t)n;
        if (got < (ssize_t)sizeof text) return false;
    }
}

static bool has_environment(const char *pid, const char *setting)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool has = fd >= 0 && has_setting(fd, setting);
    if (fd >= 0) close(fd);
    return has;
}

bool stragglers_any(const char *setting, bool (*known)(const void *ctx, uint32_t pid),
                    const void *ctx)
{
    DIR *d = opendir("/proc");
    bool any = false;
    for (struct dirent *x; d && !any && (x = readdir(d));) {
        uint32_t pid = (uint32_t)strtoul(x->d_name, NULL, 10);
        any = pid && pid != (uint32_t)getpid() && !known(ctx, pid) &&
              has_environment(x->d_name, setting);
    }
    if (d) closedir(d);
    return any;
}
