#include "support/test.h"

#include "probe/segment.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAMES = 16 };

typedef struct rig {
    segment own, other;
    int fd;
} rig;

static void open_rig(rig *r)
{
    err e = {0};
    char path[64];
    segment_head h = {.cpu_hz = 99, .max_frames = FRAMES, .heap_bytes = 1 << 19};
    r->fd = memfd_create("test", 0);
    assert_true(r->fd >= 0);
    assert_ok(segment_create(&r->own, r->fd, &h, &e), &e);
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->fd);
    assert_ok(segment_attach(&r->other, path, &e), &e);
}

static void close_rig(rig *r)
{
    segment_close(&r->own);
    segment_close(&r->other);
    close(r->fd);
}

/* A desk changes hands: taken, left, free; a generation is not used again. */
static void test_desks(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    uint32_t at = desk_take(&r.other, 4711);
    desk *mine = segment_desk(&r.other, at), *seen = segment_desk(&r.own, at);
    uint64_t word = atomic_load(&seen->word);
    assert_int_equal(desk_state_of(word), DESK_TAKEN);
    assert_int_equal(desk_pid(word), 4711);
    desk_leave(mine, word + (UINT64_C(1) << 32)); /* of another generation */
    assert_int_equal(desk_state_of(atomic_load(&seen->word)), DESK_TAKEN);
    desk_leave(mine, word);
    assert_int_equal(desk_state_of(atomic_load(&seen->word)), DESK_LEFT);
    assert_true(desk_return(mine, word)); /* the exec has failed */
    assert_int_equal(desk_state_of(atomic_load(&seen->word)), DESK_TAKEN);
    mine->parent = 7;
    desk_leave(mine, word);
    desk_free(&r.own, at);
    assert_false(desk_return(mine, word)); /* too late */
    assert_int_equal(desk_state_of(atomic_load(&seen->word)), DESK_FREE);
    assert_int_equal(desk_take(&r.other, 4711), at);
    assert_int_equal(mine->parent, 0);
    assert_true(desk_generation(atomic_load(&mine->word)) != desk_generation(word));
    close_rig(&r);
}

static void test_all_desks_are_taken(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    bool taken[SEGMENT_DESKS] = {0};
    for (uint32_t i = 0; i < SEGMENT_DESKS; i++) {
        uint32_t at = desk_take(&r.other, 1000 + 3 * i);
        assert_true(at < SEGMENT_DESKS && !taken[at]);
        taken[at] = true;
    }
    assert_int_equal(desk_take(&r.other, 1), UINT32_MAX);
    assert_u64(atomic_load(&r.own.head->no_desk), 1);
    close_rig(&r);
}

static void test_maps(void **state)
{
    (void)state;
    rig r;
    str path, id;
    map_record m = {.start = 0x1000, .end = 0x3000, .offset = 0x1000, .n_path = 9, .n_id = 4}, got;
    open_rig(&r);
    uint32_t i = desk_take(&r.other, 1), n = 0, at = 0;
    desk *d = segment_desk(&r.other, i);
    const desk *seen = segment_desk(&r.own, i);
    while (desk_put_map(d, &m, "/bin/true", (const uint8_t *)"\1\2\3\4")) n++, m.start++;
    assert_true(n > 100);
    assert_u64(atomic_load(&seen->maps_lost), 1);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(desk_next_map(seen, &at, &got, &path, &id));
        assert_u64(got.start, 0x1000 + k);
        assert_true(str_eq(path, STR("/bin/true")));
        assert_int_equal(id.n, 4);
    }
    assert_false(desk_next_map(seen, &at, &got, &path, &id));
    close_rig(&r);
}

/* A process that writes nonsense misleads nobody into memory that is not the desk's. */
static void test_nonsense(void **state)
{
    (void)state;
    rig r;
    str path, id;
    map_record m = {.n_path = 0xffff, .n_id = 0xffff}, got;
    open_rig(&r);
    uint32_t i = desk_take(&r.other, 1), at = 0;
    desk *d = segment_desk(&r.other, i);
    memcpy(d->maps, &m, sizeof m);
    atomic_store(&d->n_maps, UINT32_MAX);
    assert_false(desk_next_map(d, &at, &got, &path, &id));
    at = UINT32_MAX;
    assert_false(desk_next_map(d, &at, &got, &path, &id));
    desk_free(&r.own, i); /* clears no more than the desk */
    for (int k = 0; k < 10; k++) desk_say(d, "something");
    assert_int_equal(atomic_load(&d->n_said), DESK_SENTENCES);
    close_rig(&r);
}

static void test_another_version(void **state)
{
    (void)state;
    rig r;
    segment s;
    err e = {0};
    char path[64];
    open_rig(&r);
    snprintf(path, sizeof path, "/proc/self/fd/%d", r.fd);
    r.own.head->version++;
    assert_false(segment_attach(&s, path, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    r.own.head->version--, r.own.head->max_frames = 1 << 30;
    assert_false(segment_attach(&s, path, &e));
    assert_false(segment_attach(&s, "/dev/null", &e));
    assert_false(segment_attach(&s, "/nowhere", &e));
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_desks),
        cmocka_unit_test(test_all_desks_are_taken),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_another_version),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
