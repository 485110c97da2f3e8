/* tests/support/power.h - the power fails: of every file in a directory that bad_vfs.h watched (bad_power) is left what was synced, and of
 * what was written since then any of the sectors, as a disk that writes in its own order leaves them. */
#pragma once
#include "bad_vfs.h"
#include <dirent.h>
#include <unistd.h>

enum { POWER_SECTOR = 512 };

/* The new sectors that the disk did not get are the old ones again. */
static inline bool power_cut_file(const char *path, const char *kept, unsigned *seed)
{
    char before[POWER_SECTOR], now[POWER_SECTOR];
    FILE *old = fopen(kept, "rb"), *f = fopen(path, "r+b");
    struct stat st = {0};
    bool ok = f != NULL;
    unsigned luck = (unsigned)rand_r(seed) % 3; /* none, some, or all of them */
    if (old) (void)fstat(fileno(old), &st);
    if (ok && luck == 0) ok = ftruncate(fileno(f), st.st_size) == 0;
    for (long at = 0; ok && luck < 2; at += POWER_SECTOR) {
        memset(before, 0, sizeof before);
        fseek(f, at, SEEK_SET);
        size_t n = fread(now, 1, sizeof now, f);
        if (old) fseek(old, at, SEEK_SET);
        size_t had = old ? fread(before, 1, sizeof before, old) : 0;
        if (!n && !had) break;
        if (luck && rand_r(seed) % 2) continue;
        size_t write = luck ? n : had;
        if (write && !memcmp(before, now, write)) continue;
        fseek(f, at, SEEK_SET);
        ok = fwrite(before, 1, write, f) == write;
    }
    if (old) fclose(old);
    return (!f || fclose(f) == 0) && ok;
}

static inline bool power_cut(const char *dir, unsigned *seed)
{
    DIR *d = opendir(dir);
    bool ok = d != NULL;
    for (struct dirent *x; ok && (x = readdir(d));) {
        char path[600], kept[600];
        snprintf(path, sizeof path, "%s/%s", dir, x->d_name);
        if (x->d_name[0] == '.' || !bad_kept(path, kept)) continue;
        bool shared = strstr(x->d_name, "-shm") != NULL; /* memory with a name */
        ok = shared ? unlink(path) == 0 : power_cut_file(path, kept, seed);
    }
    if (d) closedir(d);
    return ok;
}
