/* Permissions of the store's files: 0600, and 0700 for directories, whatever the umask is. */
#include "store/owner_only.h"

#include "store/day.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/ban.h"

void owner_only_make(const char *path)
{
    /* An existing file is not opened: closing it would release the locks that SQLite has on it in
     * this process. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

/* Returns whether the name is that of a file of the store, or of one that was set aside. SQLite's
 * suffixes are removed already. */
static bool is_ours(const char *file)
{
    static const char *const tails[] = {"-wal", "-shm", "-journal"};
    char name[NAME_MAX + 1];
    day_name of_day;
    snprintf(name, sizeof name, "%s", file);
    char *db = strstr(name, ".db");
    bool aside = str_ends(str_of(name), STR(".corrupt"));
    if (db && aside) db[3] = 0;
    if (aside && str_starts(str_of(name), STR("manifest."))) return true;
    for (size_t i = 0; i < ARRAY_LEN(tails); i++)
        if (str_ends(str_of(name), str_of(tails[i]))) name[strlen(name) - strlen(tails[i])] = 0;
    static const char *const ours[] = {
        "lock",     "try",           "followed",        "catalog.db", "names.db",
        "manifest", "manifest.next", "saved",           "saved.next", "saved.corrupt",
        "settings", "settings.next", "settings.corrupt"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (!strcmp(name, ours[i])) return true;
    return day_name_parse(name, &of_day) ||
           (str_starts(str_of(name), STR("raw-")) && str_ends(str_of(name), STR(".log")));
}

static void tighten(int dir, const char *name, mode_t want)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != geteuid()) return;
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        if (st.st_mode & 077) (void)fchmodat(dir, name, want, 0);
}

void owner_only_tighten(const char *dir)
{
    DIR *d = opendir(dir);
    bool ours_alone = true;
    for (struct dirent *f; d && (f = readdir(d));) {
        str name = str_of(f->d_name);
        if (str_eq(name, STR(".")) || str_eq(name, STR(".."))) continue;
        if (is_ours(f->d_name))
            tighten(dirfd(d), f->d_name, 0600);
        else
            ours_alone = false;
    }
    if (d && ours_alone) tighten(dirfd(d), ".", 0700);
    if (d) closedir(d);
}
