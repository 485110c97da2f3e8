/* The ring of samples: full, pending and dead writers, and concurrent writers (under TSan too). */
#include "support/test.h"

#include "agent/signal/ring.h"

#include <pthread.h>
#include <string.h>

enum { CELL = 128, WRITERS = 4, EACH = 20000 };

typedef struct record {
    uint32_t writer, number;
    uint64_t filling[10];
} record;

/* Returns zeroed memory aligned to a cache line, as from mmap. */
static void *lines(size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, bytes);
    assert_non_null(p);
    return memset(p, 0, bytes);
}

static ring *new_ring(uint32_t n)
{
    ring *r = lines(sizeof *r);
    r->ends = lines(sizeof *r->ends);
    r->n = n;
    r->cell_bytes = CELL;
    r->cells = lines((size_t)n * CELL);
    return r;
}

static void free_ring(ring *r)
{
    free(r->cells);
    free(r->ends);
    free(r);
}

static void test_laps(void **state)
{
    (void)state;
    ring *r = new_ring(8);
    assert_null(ring_peek(r));
    for (uint32_t lap = 0; lap < 100; lap++) {
        ring_cell *c[8];
        for (uint32_t i = 0; i < 8; i++) {
            assert_non_null(c[i] = ring_claim(r));
            memcpy(c[i]->bytes, &(uint32_t){lap * 8 + i}, 4);
        }
        assert_null(ring_claim(r)); /* full */
        assert_null(ring_peek(r));  /* claimed but not written */
        for (uint32_t i = 8; i-- > 1;) ring_commit(r, c[i]);
        assert_null(ring_peek(r)); /* the oldest cell delays the reader */
        ring_commit(r, c[0]);
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t got;
            ring_cell *x = ring_peek(r);
            assert_ptr_equal(x, c[i]);
            memcpy(&got, x->bytes, 4);
            assert_u64(got, lap * 8 + i);
            ring_release(r, x);
        }
        assert_null(ring_peek(r));
        ring_commit(r, ring_claim(r)); /* each lap begins one cell later */
        ring_release(r, ring_peek(r));
    }
    free_ring(r);
}

static void test_half(void **state)
{
    (void)state;
    ring *r = new_ring(8);
    for (int i = 0; i < 8; i++) assert_int_equal(ring_commit(r, ring_claim(r)), i == 3);
    free_ring(r);
}

/* A writer that dies between claim and commit does not block the others permanently; a slow writer
 * loses its record and nothing else. */
static void test_dead_writer(void **state)
{
    (void)state;
    ring *r = new_ring(8);
    uint32_t writer;
    for (int lap = 0; lap < 3; lap++) {
        assert_null(ring_pending(r, &writer)); /* nothing is claimed */
        ring_cell *dead = ring_claim(r), *good = ring_claim(r);
        atomic_store(&dead->writer, 42);
        atomic_store(&good->writer, 43);
        ring_commit(r, good);
        assert_null(ring_peek(r));
        assert_ptr_equal(ring_pending(r, &writer), dead);
        assert_int_equal(writer, 42);
        assert_true(ring_skip(r, dead));
        assert_ptr_equal(ring_peek(r), good);
        assert_null(ring_pending(r, &writer)); /* written, not pending */
        assert_false(ring_commit(r, dead));    /* the reader has skipped the cell */
        ring_release(r, good);
        assert_null(ring_peek(r));
        for (int i = 0; i < 7; i++) { /* the cell of the dead writer is reused */
            ring_commit(r, ring_claim(r));
            ring_release(r, ring_peek(r));
        }
    }
    ring_cell *c = ring_claim(r);
    ring_cell *pending = ring_pending(r, &writer);
    assert_ptr_equal(pending, c);
    ring_commit(r, c);
    assert_false(ring_skip(r, pending)); /* the writer has committed it */
    assert_ptr_equal(ring_peek(r), c);
    free_ring(r);
}

typedef struct writer {
    ring *r;
    uint32_t number;
    uint64_t lost;
} writer;

static void *write_all(void *arg)
{
    writer *w = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        ring_cell *c = ring_claim(w->r);
        if (!c) {
            w->lost++;
            continue;
        }
        record x = {w->number, i, {0}};
        for (size_t k = 0; k < ARRAY_LEN(x.filling); k++)
            x.filling[k] = (uint64_t)i * w->number + k;
        memcpy(c->bytes, &x, sizeof x);
        ring_commit(w->r, c);
    }
    return NULL;
}

/* Every record arrives complete, once, and in the order of its writer; lost records are counted. */
static void test_writers(void **state)
{
    (void)state;
    ring *r = new_ring(64);
    writer w[WRITERS];
    pthread_t t[WRITERS];
    uint32_t next[WRITERS] = {0};
    uint64_t taken = 0, lost = 0;
    bool joined = false;
    for (uint32_t i = 0; i < WRITERS; i++) {
        w[i] = (writer){r, i, 0};
        assert_int_equal(pthread_create(&t[i], NULL, write_all, &w[i]), 0);
    }
    for (;;) {
        ring_cell *c = ring_peek(r);
        if (!c) {
            if (joined) break;
            if (taken > (uint64_t)WRITERS * EACH / 2 || lost++ > 1000) {
                for (uint32_t i = 0; i < WRITERS; i++) pthread_join(t[i], NULL);
                joined = true;
            }
            continue;
        }
        record x;
        memcpy(&x, c->bytes, sizeof x);
        ring_release(r, c);
        assert_true(x.writer < WRITERS);
        assert_true(x.number >= next[x.writer]);
        next[x.writer] = x.number + 1;
        for (size_t k = 0; k < ARRAY_LEN(x.filling); k++)
            assert_u64(x.filling[k], (uint64_t)x.number * x.writer + k);
        taken++;
    }
    lost = 0;
    for (uint32_t i = 0; i < WRITERS; i++) lost += w[i].lost;
    assert_u64(taken + lost, (uint64_t)WRITERS * EACH);
    free_ring(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laps),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_dead_writer),
        cmocka_unit_test(test_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
