/* Tests that only the owner can access the files of a store, whatever the umask is, and that modes
 * of older stores are corrected. */
#include "../../support/numbered.h"
#include "../../support/store_test.h"

#include <dirent.h>
#include <sys/stat.h>

typedef struct seen {
    size_t n, open; /* number of files; of files that others may read */
    bool wal, shm, raw, day, catalog, names, lock;
} seen;

static seen count_modes(const char *dir)
{
    seen s = {0};
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        struct stat st;
        if (!strcmp(f->d_name, "..")) continue;
        assert_int_equal(fstatat(dirfd(d), f->d_name, &st, 0), 0);
        s.n++;
        s.open += (st.st_mode & 077) != 0;
        if (st.st_mode & 077) print_message("# %s: %o\n", f->d_name, st.st_mode);
        str name = str_of(f->d_name);
        s.wal |= str_ends(name, STR(".0.db-wal"));
        s.shm |= str_ends(name, STR(".0.db-shm"));
        s.raw |= str_ends(name, STR(".log"));
        s.day |= str_ends(name, STR(".0.db"));
        s.catalog |= str_eq(name, STR("catalog.db"));
        s.names |= str_eq(name, STR("names.db"));
        s.lock |= str_eq(name, STR("lock"));
    }
    closedir(d);
    return s;
}

/* Creates a store with a file of every kind. */
static under_test *fill(const char *inside)
{
    under_test *t = begin(NULL, NULL);
    store_close(t->s);
    char dir[600];
    err e = {0};
    snprintf(dir, sizeof dir, "%s/%s", t->p.dir, inside);
    t->s = embedded_open(dir, &t->o, &e);
    assert_ok(t->s != NULL, &e);
    arena a = {0};
    model m;
    uint64_t n = 0;
    for (uint64_t i = 0; i < 2; i++) {
        assert_true(numbered_model(&a, i, &m));
        assert_ok(store_put(t->s, &(store_item){.model = &m}, &e) && store_commit(t->s, &e), &e);
        if (!i) assert_ok(store_compact(t->s, &e), &e);
    }
    assert_ok(store_put_names(store_own_reader(t->s), &m, &n, &e), &e);
    arena_free(&a);
    return t;
}

static void makes_private_files(void **state)
{
    (void)state;
    mode_t was = umask(022);
    under_test *t = fill("a/store");
    umask(was);
    char dir[600];
    snprintf(dir, sizeof dir, "%s/a/store", t->p.dir);
    seen s = count_modes(dir);
    assert_true(s.wal && s.shm && s.raw && s.day && s.catalog && s.names && s.lock);
    assert_int_equal(s.open, 0);
    end(t);
}

static void tightens_existing_files(void **state)
{
    (void)state;
    mode_t was = umask(022);
    under_test *t = fill("store");
    char dir[600], command[700], other[700];
    err e = {0};
    struct stat st;
    snprintf(dir, sizeof dir, "%s/store", t->p.dir);
    store_close(t->s);
    snprintf(command, sizeof command,
             "chmod -R a+rX %s && cp %s/2026-09-10.0.db "
             "%s/2026-09-09.0.db.2.corrupt",
             dir, dir, dir);
    assert_int_equal(system(command), 0);
    assert_true(count_modes(dir).open > 4);
    t->s = embedded_open(dir, &t->o, &e);
    assert_ok(t->s != NULL, &e);
    assert_int_equal(count_modes(dir).open, 0);

    /* A directory with other files: only the store's files are changed. */
    store_close(t->s);
    snprintf(other, sizeof other, "%s/notes.db", dir);
    fclose(fopen(other, "w"));
    assert_int_equal(chmod(dir, 0755), 0);
    t->s = embedded_open(dir, &t->o, &e);
    assert_ok(t->s != NULL, &e);
    assert_int_equal(count_modes(dir).open, 2);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    umask(was);
    end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(makes_private_files),
                                       cmocka_unit_test(tightens_existing_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
