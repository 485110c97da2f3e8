/* rows.c - stores the samples of profiles as rows in SQLite, one per sample, for comparison in
 * bench/serve.
 *
 *     bench/rows DB REQUESTS GROUP FILE...
 *
 * The files are decoded in advance and inserted in turn, REQUESTS times in all, GROUP of them in
 * one synced transaction (WAL, synchronous=FULL).  The ids of stacks are known in advance, at no
 * cost; the stacks of a file are inserted once.  Prints the CPU seconds. */
#include "measure.h"
#include "wire/otlp.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_NS INT64_C(10000000000) /* time between two profiles of a service */

typedef struct request {
    material file;
    arena a;
    model m;
    int64_t first_stack; /* id of its stack 0; -1: not inserted yet */
} request;

typedef struct rows {
    sqlite3 *db;
    sqlite3_stmt *sample, *stack;
    int64_t n_stacks;
    uint64_t n_samples;
} rows;

static void fail(const rows *r, const char *what)
{
    fprintf(stderr, "rows: %s: %s\n", what, r->db ? sqlite3_errmsg(r->db) : "");
    exit(3);
}

static void sql(const rows *r, const char *text)
{
    if (sqlite3_exec(r->db, text, NULL, NULL, NULL) != SQLITE_OK) fail(r, text);
}

static void step(const rows *r, sqlite3_stmt *s)
{
    if (sqlite3_step(s) != SQLITE_DONE) fail(r, "insert");
    sqlite3_reset(s);
}

static void open_rows(rows *r, const char *path)
{
    if (sqlite3_open(path, &r->db) != SQLITE_OK) fail(r, path);
    sql(r, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;"
           "CREATE TABLE sample(service INTEGER, time INTEGER, stack INTEGER, attribute INTEGER, "
           "link INTEGER, value INTEGER);"
           "CREATE INDEX by_service ON sample(service, time);"
           "CREATE TABLE stack(id INTEGER PRIMARY KEY, frames BLOB);");
    const char *row = "INSERT INTO sample VALUES(?, ?, ?, ?, ?, ?)",
               *stack = "INSERT INTO stack VALUES(?, ?)";
    if (sqlite3_prepare_v2(r->db, row, -1, &r->sample, NULL) != SQLITE_OK) fail(r, row);
    if (sqlite3_prepare_v2(r->db, stack, -1, &r->stack, NULL) != SQLITE_OK) fail(r, stack);
}

static void put_stacks(rows *r, request *x)
{
    const dict *d = &x->m.dict;
    x->first_stack = r->n_stacks;
    for (size_t i = 0; i < dict_n_stacks(d); i++) {
        uint32_t from = d->stacks.v[i], to = d->stacks.v[i + 1];
        sqlite3_bind_int64(r->stack, 1, r->n_stacks++);
        sqlite3_bind_blob(r->stack, 2, d->frames.v + from, (int)((to - from) * sizeof from),
                          SQLITE_STATIC);
        step(r, r->stack);
    }
}

static void put_samples(rows *r, const request *x, int64_t service, int64_t later)
{
    for (size_t i = 0; i < x->m.profiles.n; i++) {
        const profile *p = &x->m.profiles.v[i];
        for (size_t k = 0; k < p->n_samples; k++) {
            sample s = sample_at(&x->m, p, k);
            sqlite3_bind_int64(r->sample, 1, service);
            sqlite3_bind_int64(r->sample, 2, (s.n_times ? (int64_t)s.times[0] : 0) + later);
            sqlite3_bind_int64(r->sample, 3, x->first_stack + s.stack);
            sqlite3_bind_int64(r->sample, 4, s.n_attrs ? s.attrs[0] : 0);
            sqlite3_bind_int64(r->sample, 5, s.link);
            sqlite3_bind_int64(r->sample, 6, s.n_values ? s.values[0] : 0);
            step(r, r->sample);
        }
        r->n_samples += p->n_samples;
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) return fprintf(stderr, "usage: rows DB REQUESTS GROUP FILE...\n"), 2;
    rows r = {0};
    size_t n = (size_t)argc - 4, to_put = strtoull(argv[2], NULL, 10),
           group = strtoull(argv[3], NULL, 10);
    request *v = calloc(n, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        err e = {0};
        v[i].first_stack = -1;
        if (!material_load(argv[4 + i], &v[i].file) ||
            !otlp_decode(v[i].file.p, v[i].file.n, NULL, &v[i].a, &v[i].m, &e))
            fail(&r, argv[4 + i]);
    }
    open_rows(&r, argv[1]);
    double began = cpu_seconds();
    sql(&r, "BEGIN");
    for (size_t i = 0; i < to_put; i++) {
        request *x = &v[i % n];
        if (x->first_stack < 0) put_stacks(&r, x);
        put_samples(&r, x, (int64_t)(i % n), (int64_t)(i / n) * AGAIN_NS);
        if ((i + 1) % group == 0) sql(&r, "COMMIT; BEGIN");
    }
    sql(&r, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    printf("{\"samples\": %" PRIu64 ", \"seconds\": %.6f}\n", r.n_samples, cpu_seconds() - began);
    return 0;
}
