/* tests/support/power.h - simulates a power failure. In every file of a directory that bad_vfs.h
 * recorded (bad_power), the synced data remains, and any sectors of later writes, as on a disk that
 * reorders writes. */
#pragma once
#include "bad_vfs.h"
#include <dirent.h>
#include <unistd.h>

enum { POWER_SECTOR = 512 };

/* Restores the sectors that did not reach the disk. */
static inline bool power_cut_file(const char *path, const char *copy, unsigned *seed)
{
    char before[POWER_SECTOR], now[POWER_SECTOR];
    FILE *old = fopen(copy, "rb"), *f = fopen(path, "r+b");
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
        char path[600], copy[600];
        snprintf(path, sizeof path, "%s/%s", dir, x->d_name);
        if (x->d_name[0] == '.' || !bad_synced_copy(path, copy)) continue;
        bool shared = strstr(x->d_name, "-shm") != NULL; /* shared memory */
        ok = shared ? unlink(path) == 0 : power_cut_file(path, copy, seed);
    }
    if (d) closedir(d);
    return ok;
}
