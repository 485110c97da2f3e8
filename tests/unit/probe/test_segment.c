/* The segment shared with the collector: process slots, mappings, messages, and invalid data. */
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

/* A process slot is taken, left and freed; a generation is not reused. */
static void test_proc_slots(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    uint32_t at = proc_slot_take(&r.other, 4711);
    proc_slot *mine = segment_proc_slot(&r.other, at), *seen = segment_proc_slot(&r.own, at);
    uint64_t word = atomic_load(&seen->word);
    assert_int_equal(proc_slot_state_of(word), PROC_SLOT_TAKEN);
    assert_int_equal(proc_slot_pid(word), 4711);
    proc_slot_leave(mine, word + (UINT64_C(1) << 32)); /* word of another generation: no effect */
    assert_int_equal(proc_slot_state_of(atomic_load(&seen->word)), PROC_SLOT_TAKEN);
    proc_slot_leave(mine, word);
    assert_int_equal(proc_slot_state_of(atomic_load(&seen->word)), PROC_SLOT_LEFT);
    assert_true(proc_slot_return(mine, word)); /* the exec has failed */
    assert_int_equal(proc_slot_state_of(atomic_load(&seen->word)), PROC_SLOT_TAKEN);
    mine->parent = 7;
    proc_slot_leave(mine, word);
    proc_slot_free(&r.own, at);
    assert_false(proc_slot_return(mine, word)); /* the slot was freed */
    assert_int_equal(proc_slot_state_of(atomic_load(&seen->word)), PROC_SLOT_FREE);
    assert_int_equal(proc_slot_take(&r.other, 4711), at);
    assert_int_equal(mine->parent, 0);
    assert_true(proc_slot_generation(atomic_load(&mine->word)) != proc_slot_generation(word));
    close_rig(&r);
}

static void test_all_proc_slots_are_taken(void **state)
{
    (void)state;
    rig r;
    open_rig(&r);
    bool taken[SEGMENT_PROC_SLOTS] = {0};
    for (uint32_t i = 0; i < SEGMENT_PROC_SLOTS; i++) {
        uint32_t at = proc_slot_take(&r.other, 1000 + 3 * i);
        assert_true(at < SEGMENT_PROC_SLOTS && !taken[at]);
        taken[at] = true;
    }
    assert_int_equal(proc_slot_take(&r.other, 1), UINT32_MAX);
    assert_u64(atomic_load(&r.own.head->no_slot), 1);
    close_rig(&r);
}

static void test_maps(void **state)
{
    (void)state;
    rig r;
    str path, id;
    map_record m = {.start = 0x1000, .end = 0x3000, .offset = 0x1000, .n_path = 9, .n_id = 4}, got;
    open_rig(&r);
    uint32_t i = proc_slot_take(&r.other, 1), n = 0, at = 0;
    proc_slot *d = segment_proc_slot(&r.other, i);
    const proc_slot *seen = segment_proc_slot(&r.own, i);
    while (proc_slot_put_map(d, &m, "/bin/true", (const uint8_t *)"\1\2\3\4")) n++, m.start++;
    assert_true(n > 100);
    assert_u64(atomic_load(&seen->maps_lost), 1);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(proc_slot_next_map(seen, &at, &got, &path, &id));
        assert_u64(got.start, 0x1000 + k);
        assert_true(str_eq(path, STR("/bin/true")));
        assert_int_equal(id.n, 4);
    }
    assert_false(proc_slot_next_map(seen, &at, &got, &path, &id));
    close_rig(&r);
}

/* Invalid data in a slot does not lead to accesses outside of it. */
static void test_invalid_data(void **state)
{
    (void)state;
    rig r;
    str path, id;
    map_record m = {.n_path = 0xffff, .n_id = 0xffff}, got;
    open_rig(&r);
    uint32_t i = proc_slot_take(&r.other, 1), at = 0;
    proc_slot *d = segment_proc_slot(&r.other, i);
    memcpy(d->maps, &m, sizeof m);
    atomic_store(&d->n_maps, UINT32_MAX);
    assert_false(proc_slot_next_map(d, &at, &got, &path, &id));
    at = UINT32_MAX;
    assert_false(proc_slot_next_map(d, &at, &got, &path, &id));
    proc_slot_free(&r.own, i); /* clears only the process slot */
    for (int k = 0; k < 10; k++) proc_slot_warn(d, "something");
    assert_int_equal(atomic_load(&d->n_messages), PROC_SLOT_MESSAGES);
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
        cmocka_unit_test(test_proc_slots),
        cmocka_unit_test(test_all_proc_slots_are_taken),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_invalid_data),
        cmocka_unit_test(test_another_version),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
