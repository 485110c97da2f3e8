/* tests/support/bad_vfs.h - an SQLite VFS over the default one that fails on demand: the n-th
 * write, sync or open, once or from then on, as a full disk, a broken disk or a short write; or
 * that kills the process there. */
#pragma once
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef enum bad_kind {
    BAD_NONE,
    BAD_FULL,
    BAD_EIO,
    BAD_SHORT,
    BAD_SYNC,
    BAD_OPEN,
    BAD_DIE_TORN,     /* half of a write, then SIGKILL */
    BAD_DIE_UNSYNCED, /* before a sync of the journal */
    BAD_DIE_JOURNAL,  /* after a sync of the journal */
    BAD_DIE_DATABASE, /* after a sync of a database: compaction */
    BAD_DIE_ANSWER,   /* before the first response after a sync (bad_disk.c) */
    BAD_DIE_ANSWERED, /* after that response */
} bad_kind;

typedef struct bad_plan {
    bad_kind kind;
    long after;    /* calls that succeed first */
    bool for_good; /* all later calls fail too */
    long n_calls, n_failed;
} bad_plan;

static bad_plan bad_own;
static bad_plan *bad_now = &bad_own; /* or a plan that another process writes */
static bool bad_no_sync = true;      /* syncs are only counted: tests do not interrupt the power */
static long bad_synced;              /* number of syncs */

/* Returns whether this call fails. Safe in any thread. */
static bool bad_hits(bad_kind kind)
{
    if (__atomic_load_n(&bad_now->kind, __ATOMIC_ACQUIRE) != kind) return false;
    long n = __atomic_fetch_add(&bad_now->n_calls, 1, __ATOMIC_RELAXED);
    bool hit = bad_now->for_good ? n >= bad_now->after : n == bad_now->after;
    if (hit) __atomic_fetch_add(&bad_now->n_failed, 1, __ATOMIC_RELAXED);
    return hit;
}

static void bad_end(void) { raise(SIGKILL); }

/* The directory with the bytes of each file at its last sync, named by inode: the data that
 * survives a power failure. NULL: not recorded. power.h uses it. */
static const char *bad_power;

typedef struct bad_file {
    sqlite3_file base;
    sqlite3_file *real;
    bool database; /* otherwise the journal */
    char path[512];
} bad_file;

/* Replaces the copy as a whole. */
static bool bad_copy(const char *from, const char *to)
{
    static __thread char piece[1 << 16];
    char next[600];
    snprintf(next, sizeof next, "%s.next", to);
    FILE *in = fopen(from, "rb"), *out = fopen(next, "wb");
    bool ok = in && out;
    for (size_t n; ok && (n = fread(piece, 1, sizeof piece, in));)
        ok = fwrite(piece, 1, n, out) == n;
    ok = (!in || fclose(in) == 0) && ok;
    ok = (!out || fclose(out) == 0) && ok;
    return ok && rename(next, to) == 0;
}

/* Writes the path of the copy of this file. Returns false if there is none. */
static bool bad_synced_copy(const char *path, char out[600])
{
    struct stat st;
    if (!bad_power || stat(path, &st) != 0) return false;
    return snprintf(out, 600, "%s/%llu", bad_power, (unsigned long long)st.st_ino) > 0;
}

static bool bad_keep(const bad_file *f)
{
    char to[600] = "";
    return !bad_power || !f->path[0] || (bad_synced_copy(f->path, to) && bad_copy(f->path, to));
}

#define REAL(f) (((bad_file *)(void *)(f))->real)

static int bad_close(sqlite3_file *f)
{
    return REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;
}
static int bad_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}

static int bad_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (bad_hits(BAD_FULL)) return SQLITE_FULL;
    if (bad_hits(BAD_EIO)) return SQLITE_IOERR_WRITE;
    if (bad_hits(BAD_SHORT)) {
        (void)REAL(f)->pMethods->xWrite(REAL(f), p, n / 2, at);
        return SQLITE_FULL;
    }
    if (bad_hits(BAD_DIE_TORN)) {
        (void)REAL(f)->pMethods->xWrite(REAL(f), p, n / 2, at);
        bad_end();
    }
    return REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}

static int bad_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return REAL(f)->pMethods->xTruncate(REAL(f), n);
}

static int bad_sync(sqlite3_file *f, int flags)
{
    if (bad_hits(BAD_SYNC)) return SQLITE_IOERR_FSYNC;
    const bad_file *b = (bad_file *)(void *)f;
    if (!b->database && bad_hits(BAD_DIE_UNSYNCED)) bad_end();
    int rc = bad_no_sync ? SQLITE_OK : REAL(f)->pMethods->xSync(REAL(f), flags);
    if (rc == SQLITE_OK && !bad_keep(b)) rc = SQLITE_IOERR_FSYNC;
    if (bad_hits(b->database ? BAD_DIE_DATABASE : BAD_DIE_JOURNAL)) bad_end();
    __atomic_fetch_add(&bad_synced, 1, __ATOMIC_RELEASE);
    return rc;
}

static int bad_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), n);
}
static int bad_lock(sqlite3_file *f, int how) { return REAL(f)->pMethods->xLock(REAL(f), how); }
static int bad_unlock(sqlite3_file *f, int how) { return REAL(f)->pMethods->xUnlock(REAL(f), how); }
static int bad_reserved(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}
static int bad_control(sqlite3_file *f, int op, void *arg)
{
    if (op == SQLITE_FCNTL_SIZE_HINT && bad_hits(BAD_FULL)) return SQLITE_FULL;
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}
static int bad_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int bad_device(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int bad_shm_map(sqlite3_file *f, int i, int n, int w, void volatile **p)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), i, n, w, p);
}
static int bad_shm_lock(sqlite3_file *f, int at, int n, int how)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, how);
}
static void bad_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int bad_shm_unmap(sqlite3_file *f, int gone)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), gone);
}

static const sqlite3_io_methods bad_methods = {
    .iVersion = 2,
    .xClose = bad_close,
    .xRead = bad_read,
    .xWrite = bad_write,
    .xTruncate = bad_truncate,
    .xSync = bad_sync,
    .xFileSize = bad_size,
    .xLock = bad_lock,
    .xUnlock = bad_unlock,
    .xCheckReservedLock = bad_reserved,
    .xFileControl = bad_control,
    .xSectorSize = bad_sector,
    .xDeviceCharacteristics = bad_device,
    .xShmMap = bad_shm_map,
    .xShmLock = bad_shm_lock,
    .xShmBarrier = bad_shm_barrier,
    .xShmUnmap = bad_shm_unmap,
};

static sqlite3_vfs *bad_real;

static int bad_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
    (void)v;
    bad_file *b = (bad_file *)(void *)f;
    *b = (bad_file){.real = (sqlite3_file *)(void *)(b + 1),
                    .database = name && strstr(name, ".db") != NULL};
    snprintf(b->path, sizeof b->path, "%s", name ? name : "");
    memset(b->real, 0, (size_t)bad_real->szOsFile);
    if (bad_hits(BAD_OPEN)) return SQLITE_CANTOPEN;
    int rc = bad_real->xOpen(bad_real, name, b->real, flags, out);
    if (rc == SQLITE_OK) b->base.pMethods = &bad_methods;
    return rc;
}

/* Removes the copy of a deleted file, because another file may get its inode. */
static int bad_delete(sqlite3_vfs *v, const char *path, int sync)
{
    (void)v;
    char kept[600] = "";
    if (bad_synced_copy(path, kept)) (void)remove(kept);
    return bad_real->xDelete(bad_real, path, sync);
}

/* Registers the VFS as "bad", and with `usual` also as the default. */
static void bad_vfs_register(bool usual)
{
    static sqlite3_vfs v;
    sqlite3_initialize();
    bad_real = sqlite3_vfs_find(NULL);
    v = *bad_real;
    v.zName = "bad";
    v.szOsFile = (int)sizeof(bad_file) + bad_real->szOsFile;
    v.xOpen = bad_open;
    v.xDelete = bad_delete;
    sqlite3_vfs_register(&v, usual);
}
