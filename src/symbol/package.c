/* Suggests a command that installs the debug symbols of a binary.  It reads only files of the
 * package manager, because running the package manager takes seconds and may wait for a lock. */
#include "symbol/package.h"

#include "sys/file.h"
#include <dirent.h>
#include <unistd.h>
#include "base/ban.h"

#define DPKG_INFO "/var/lib/dpkg/info"

/* ---- Debian and derivatives: one list of files per package ---- */

static bool has_line(str text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = text.p, *end = text.p + text.n;
         (at = memmem(at, (size_t)(end - at), line, n)); at++) {
        bool begins = at == text.p || at[-1] == '\n', ends = at + n == end || at[n] == '\n';
        if (begins && ends) return true;
    }
    return false;
}

static bool list_has(const char *dir, const char *name, const char *const paths[2])
{
    char list[4096];
    file_bytes f;
    int n = snprintf(list, sizeof list, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof list || !file_read_regular(list, 0, &f, NULL)) return false;
    bool found = f.bytes.n && (has_line(f.bytes, paths[0]) || has_line(f.bytes, paths[1]));
    file_release(&f);
    return found;
}

/* Copies the package name from "libc6:amd64.list". */
static void take_name(const char *list, char *out, size_t cap)
{
    snprintf(out, cap, "%.*s", (int)strcspn(list, ":"), list);
    size_t n = strlen(out);
    if (n > 5 && !strcmp(out + n - 5, ".list")) out[n - 5] = '\0';
}

bool package_owner(const char *info, str path, char *out, size_t cap)
{
    char as_is[4096], moved[4096];
    const char *const paths[2] = {as_is, moved};
    bool usr = str_starts(path, STR("/usr/")), found = false;
    if (!path.n || path.n > sizeof as_is - 8) return false;
    snprintf(as_is, sizeof as_is, "%.*s", STR_ARG(path));
    /* /lib is a link to /usr/lib, and the lists use either name. */
    snprintf(moved, sizeof moved, "%s%s", usr ? "" : "/usr", usr ? as_is + 4 : as_is);
    DIR *d = opendir(info);
    for (const struct dirent *x; d && !found && (x = readdir(d));) {
        if (!str_ends(str_of(x->d_name), STR(".list"))) continue;
        found = list_has(info, x->d_name, paths);
        if (found) take_name(x->d_name, out, cap);
    }
    if (d) closedir(d);
    return found;
}

static bool advise_apt(str path, buf *out)
{
    char owner[256];
    if (!package_owner(DPKG_INFO, path, owner, sizeof owner)) return false;
    /* The debug package of libc6 is older than the automatic -dbgsym packages. */
    bool libc = !strcmp(owner, "libc6");
    buf_printf(out, "`apt install %s%s` installs its debug symbols%s", owner,
               libc ? "-dbg" : "-dbgsym", libc ? "" : ", from the archive of debug packages");
    return true;
}

/* ---- others ---- */

static bool has_rpm(void)
{
    return access("/var/lib/rpm", F_OK) == 0 || access("/usr/lib/sysimage/rpm", F_OK) == 0;
}

static bool advise_by_id(str id, buf *out)
{
    if (id.n < 3) return false;
    if (has_rpm())
        buf_printf(out,
                   "`dnf --enablerepo='*debug*' install /usr/lib/debug/.build-id/%.2s/%.*s.debug` "
                   "installs its debug symbols",
                   id.p, (int)id.n - 2, id.p + 2);
    else
        buf_printf(out, "`debuginfod-find debuginfo %.*s` downloads its debug symbols",
                   STR_ARG(id));
    return true;
}

bool package_advice(str path, str build_id, buf *out)
{
    if (access(DPKG_INFO, R_OK | X_OK) == 0) return advise_apt(path, out);
    return advise_by_id(build_id, out);
}
