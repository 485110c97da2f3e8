/* pprof -> model -> pprof gives the same profile with other ids, also through OTLP bytes; both
 * readers agree; any model can be written and read back. Uses random messages in every legal wire
 * form. */
#include "../support/pprof_text.h"
#include "../support/mild.h"
#include "../support/test.h"
#include "../support/ledger_judge.h"

#include "format/dialects.h"
#include "format/pprof.h"
#include "wire/carried.h"
#include "wire/otlp.h"

enum { MESSAGES = 400, MODELS = 1200 };

static uint64_t seed_now;

#define fail_here(...)                                                                             \
    do {                                                                                           \
        print_message("# KILN_SEED=%llu\n", (unsigned long long)seed_now);                         \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* ---- random messages ---- */

typedef struct gen {
    rng r;
    size_t n_strings, n_types;
    uint64_t ids[3][40]; /* ids of mappings, locations, functions */
    size_t n[3];
    bool negative_time;
} gen;

static uint64_t any_string(gen *g) { return below(&g->r, g->n_strings); }
static uint64_t maybe(gen *g, uint64_t v) { return one_in(&g->r, 2) ? 0 : v; }

static void put(buf *b, uint32_t number, uint64_t v)
{
    if (v) pb_put_uint(b, number, v);
}

static void put_list(gen *g, buf *b, uint32_t number, const uint64_t *v, size_t n)
{
    if (n < 3 && one_in(&g->r, 2)) { /* as Go does */
        for (size_t i = 0; i < n; i++) pb_put_uint(b, number, v[i]);
        return;
    }
    buf packed = {0};
    size_t cut = one_in(&g->r, 8) ? below(&g->r, n + 1) : n; /* sometimes split in two */
    for (size_t i = 0; i < n; i++) {
        if (i == cut) pb_put_bytes(b, number, buf_view(&packed)), buf_reset(&packed);
        pb_put_varint(&packed, v[i]);
    }
    if (packed.n) pb_put_bytes(b, number, buf_view(&packed));
    buf_free(&packed);
}

/* Ids 1 to n, or sparse ones. */
static void choose_ids(gen *g, size_t table, bool dense)
{
    g->n[table] = 1 + below(&g->r, 12);
    for (size_t i = 0; i < g->n[table]; i++) {
        g->ids[table][i] = i + 1;
        if (dense) continue;
        uint64_t step = one_in(&g->r, 4) ? rnd(&g->r) >> 8 : 1 + below(&g->r, 9);
        g->ids[table][i] = (i ? g->ids[table][i - 1] : 0) + (step ? step : 1);
    }
}

static uint64_t any_id(gen *g, size_t table) { return g->ids[table][below(&g->r, g->n[table])]; }

static void put_message(buf *out, uint32_t number, buf *body)
{
    pb_put_bytes(out, number, buf_view(body));
    buf_reset(body);
}

static void gen_mappings(gen *g, buf *out)
{
    buf m = {0};
    for (size_t i = 0; i < g->n[0]; i++) {
        put(&m, 1, g->ids[0][i]);
        for (uint32_t k = 2; k <= 4; k++) put(&m, k, maybe(g, rnd_wide(&g->r)));
        for (uint32_t k = 5; k <= 6; k++) put(&m, k, any_string(g));
        for (uint32_t k = 7; k <= 10; k++) put(&m, k, one_in(&g->r, 2));
        put_message(out, 3, &m);
    }
    buf_free(&m);
}

static void gen_locations(gen *g, buf *out)
{
    buf l = {0}, one = {0};
    for (size_t i = 0; i < g->n[1]; i++) {
        bool id_last = one_in(&g->r, 4);
        if (!id_last) put(&l, 1, g->ids[1][i]);
        put(&l, 2, maybe(g, any_id(g, 0)));
        put(&l, 3, maybe(g, rnd_wide(&g->r)));
        for (size_t k = below(&g->r, 4); k > 0; k--) {
            put(&one, 1, any_id(g, 2));
            put(&one, 2, maybe(g, rnd_wide(&g->r)));
            put(&one, 3, maybe(g, rnd_wide(&g->r)));
            put_message(&l, 4, &one);
        }
        put(&l, 5, one_in(&g->r, 5));
        if (id_last) put(&l, 1, g->ids[1][i]);
        put_message(out, 4, &l);
    }
    buf_free(&l);
    buf_free(&one);
}

static void gen_functions(gen *g, buf *out)
{
    buf f = {0};
    for (size_t i = 0; i < g->n[2]; i++) {
        put(&f, 1, g->ids[2][i]);
        for (uint32_t k = 2; k <= 4; k++) put(&f, k, any_string(g));
        put(&f, 5, maybe(g, rnd_wide(&g->r)));
        put_message(out, 5, &f);
    }
    buf_free(&f);
}

/* Strings 1 to 6 are the ones that trace labels use. */
static const char *const known[] = {"",
                                    "trace_id",
                                    "span_id",
                                    "0af7651916cd43dd8448eb211c80319c",
                                    "b7ad6b7169203331",
                                    "00000000000000000000000000000000",
                                    "B7AD6B7169203331"};

static void gen_label(gen *g, buf *out)
{
    buf l = {0};
    bool trace = one_in(&g->r, 3);
    put(&l, 1, trace ? 1 + below(&g->r, 2) : any_string(g));
    bool text = trace || one_in(&g->r, 2);
    if (text) put(&l, 2, trace ? 3 + below(&g->r, 4) : any_string(g));
    if (!text || one_in(&g->r, 6)) put(&l, 3, rnd_wide(&g->r));
    if (one_in(&g->r, 3)) put(&l, 4, any_string(g));
    put_message(out, 3, &l);
    buf_free(&l);
}

static void gen_samples(gen *g, buf *out)
{
    buf s = {0};
    uint64_t v[64];
    for (size_t i = below(&g->r, 40); i > 0; i--) {
        size_t n = below(&g->r, 30);
        for (size_t k = 0; k < n; k++) v[k] = any_id(g, 1);
        put_list(g, &s, 1, v, n);
        for (size_t k = 0; k < g->n_types; k++) v[k] = maybe(g, rnd_wide(&g->r));
        put_list(g, &s, 2, v, g->n_types);
        for (size_t k = below(&g->r, 5); k > 0; k--) gen_label(g, &s);
        put_message(out, 2, &s);
    }
    buf_free(&s);
}

static void gen_head(gen *g, buf *out)
{
    buf t = {0};
    for (size_t i = 0; i < g->n_types; i++) {
        put(&t, 1, any_string(g));
        put(&t, 2, any_string(g));
        put_message(out, 1, &t);
    }
    if (one_in(&g->r, 2)) {
        put(&t, 1, any_string(g));
        put(&t, 2, any_string(g));
        put_message(out, 11, &t);
    }
    for (uint32_t k = 7; k <= 8; k++) put(out, k, maybe(g, any_string(g)));
    uint64_t time = maybe(g, rnd_wide(&g->r)), duration = maybe(g, rnd_wide(&g->r));
    g->negative_time = (int64_t)time < 0 || (int64_t)duration < 0;
    put(out, 9, time);
    put(out, 10, duration);
    put(out, 12, maybe(g, rnd_wide(&g->r)));
    uint64_t comments[4];
    size_t n = below(&g->r, 4);
    for (size_t i = 0; i < n; i++) comments[i] = any_string(g);
    put_list(g, out, 13, comments, n);
    for (uint32_t k = 14; k <= 15; k++) put(out, k, maybe(g, any_string(g)));
    buf_free(&t);
}

static void gen_strings(gen *g, buf *out, arena *a)
{
    for (size_t i = 0; i < g->n_strings; i++)
        pb_put_bytes(out, 6, i < ARRAY_LEN(known) ? str_of(known[i]) : rm_string(&g->r, a));
}

static buf random_pprof(gen *g, uint64_t seed)
{
    arena a = {0};
    buf out = {0};
    *g = (gen){.r = {seed}, .n_strings = ARRAY_LEN(known) + 1 + below(&(rng){seed}, 30)};
    g->n_types = one_in(&g->r, 12) ? 0 : 1 + below(&g->r, 5);
    bool dense = !one_in(&g->r, 3), strings_first = one_in(&g->r, 2);
    for (size_t i = 0; i < 3; i++) choose_ids(g, i, dense);
    if (strings_first) gen_strings(g, &out, &a);
    gen_head(g, &out);
    unsigned first = below(&g->r, 4);
    for (unsigned k = 0; k < 4; k++) switch ((k + first) % 4) {
        case 0:
            if (g->n_types) gen_samples(g, &out);
            break;
        case 1: gen_mappings(g, &out); break;
        case 2: gen_locations(g, &out); break;
        default: gen_functions(g, &out);
        }
    if (!strings_first) gen_strings(g, &out, &a);
    arena_free(&a);
    return out;
}

/* ---- properties ---- */

static void decode(str in, bool plain, arena *a, model *m, ledger *l)
{
    err e = {0};
    char text[512];
    if (!pprof_decode(in, &(pprof_read_opts){.plain = plain, .ledger = l}, a, m, &e))
        fail_here("decode: %s", err_text(&e, text, sizeof text));
}

static buf encode_as(const model *m, bool timestamps, ledger *l)
{
    buf out = {0};
    err e = {0};
    if (!pprof_encode(m, &(pprof_write_opts){.timestamps = timestamps, .ledger = l}, &out, &e))
        fail_here("%s", e.msg);
    return out;
}

static buf encode(const model *m, ledger *l) { return encode_as(m, false, l); }

static bool lost(const ledger *l, loss_concept c)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].concept == c && !l->v[i].carried_as) return true;
    return false;
}

/* Fails at the first difference of two texts, with the line before. */
static void assert_same_text(const buf *a, const buf *b, const char *what)
{
    size_t i = 0;
    while (i < a->n && i < b->n && a->p[i] == b->p[i]) i++;
    if (i == a->n && i == b->n) return;
    size_t from = i > 60 ? i - 60 : 0;
    fail_here("%s: differs after\n%.*s\n<<<%.*s\n>>>%.*s", what, (int)(i - from), a->p + from,
              (int)(a->n - i < 80 ? a->n - i : 80), a->p + i, (int)(b->n - i < 80 ? b->n - i : 80),
              b->p + i);
}

/* pprof -> model -> OTEP 0239 -> model -> pprof. */
static void check_otep239(const model *m, const buf *before)
{
    arena a = {0};
    buf b = {0};
    ledger l = {0};
    err e = {0};
    model back;
    layout_verdict v = {0};
    const format *f = &format_otep239;
    if (!f->write(f, m, &(write_opts){.ledger = &l}, &b, &e) ||
        !f->read(f, buf_view(&b), &(read_opts){.ledger = &l}, &a, &back, &v, &e))
        fail_here("through OTEP 0239: %s", e.msg);
    if (!equal_by_ledger(m, &back, &l))
        fail_here("OTEP 0239 differs by more than the ledger lists");
    buf third = encode(&back, NULL), text = pprof_text(buf_view(&third));
    if (!ledger_lost(&l)) assert_same_text(before, &text, "pprof -> OTEP 0239 -> pprof");
    buf_free(&b), buf_free(&third), buf_free(&text);
    arena_free(&a);
}

static void check_message(uint64_t seed)
{
    gen g;
    arena a = {0}, b = {0}, c = {0};
    ledger read = {0}, written = {0};
    buf in = random_pprof(&g, seed), before = pprof_text(buf_view(&in));
    model m, plain, again;
    err e = {0};
    decode(buf_view(&in), false, &a, &m, &read);
    decode(buf_view(&in), true, &b, &plain, NULL);
    if (!model_equal(&m, &plain, &e)) fail_here("the readers differ at %s", e.path);

    buf out = encode(&m, &written), after = pprof_text(buf_view(&out));
    assert_same_text(&before, &after, "pprof -> model -> pprof");
    if (written.n) fail_here("the writer lost %s", loss_name(written.v[0].concept));
    if (g.negative_time != lost(&read, LOSS_TIME))
        fail_here("a negative time is not in the ledger");

    buf otlp = {0};
    if (!otlp_encode(&m, &(otlp_encode_opts){0}, &otlp, &e) ||
        !otlp_decode(otlp.p, otlp.n, &(otlp_decode_opts){0}, &c, &again, &e))
        fail_here("through OTLP: %s", e.msg);
    buf third = encode(&again, NULL), text = pprof_text(buf_view(&third));
    assert_same_text(&before, &text, "pprof -> OTLP -> pprof");

    ledger legs = {0};
    buf fourth = encode(&m, &legs);
    decode(buf_view(&fourth), false, &c, &again, &legs);
    if (!equal_by_ledger(&m, &again, &legs)) fail_here("differs by more than the ledger lists");
    check_otep239(&m, &before);

    buf_free(&fourth);
    buf_free(&in), buf_free(&before), buf_free(&out), buf_free(&after);
    buf_free(&otlp), buf_free(&third), buf_free(&text);
    arena_free(&a), arena_free(&b), arena_free(&c);
}

static void test_round_trip(void **state)
{
    (void)state;
    uint64_t seed = rnd_seed(20240101);
    for (uint64_t i = 0; i < MESSAGES; i++) check_message(seed_now = seed + i);
}

/* Any model that is written and read differs only by what the ledger lists, and so does the result
 * when it is written again. */
static void check_model(const model *m, bool timestamps)
{
    arena a = {0};
    ledger first = {0}, second = {0};
    model back, again;
    buf x = encode_as(m, timestamps, &first);
    decode(buf_view(&x), false, &a, &back, &first);
    if (m->profiles.n && !equal_by_ledger(m, &back, &first))
        fail_here("timestamps %d: differs by more than the ledger lists", timestamps);
    buf y = encode_as(&back, timestamps, &second);
    if (ledger_lost(&second))
        fail_here("the second round trip loses: %s", loss_name(second.v[0].concept));
    decode(buf_view(&y), false, &a, &again, &second);
    if (digest_all(&back) != digest_all(&again)) fail_here("read back as another format");
    buf_free(&x), buf_free(&y);
    arena_free(&a);
}

static void test_any_model(void **state)
{
    (void)state;
    static const char *const words[] = {PPROF_ATTR_COMMENT,
                                        PPROF_ATTR_DOC_URL,
                                        PPROF_ATTR_DROP_FRAMES,
                                        PPROF_ATTR_KEEP_FRAMES,
                                        PPROF_ATTR_HAS_FUNCTIONS,
                                        PPROF_ATTR_HAS_LINE_NUMBERS,
                                        PPROF_ATTR_IS_FOLDED,
                                        ATTR_BUILD_ID_GNU,
                                        ATTR_BUILD_ID_GO,
                                        ATTR_FRAME_TYPE,
                                        "trace_id",
                                        "timestamp",
                                        NULL};
    uint64_t seed = rnd_seed(7);
    for (uint64_t i = 0; i < MODELS; i++) {
        seed_now = seed + i;
        arena a = {0};
        rng r = {seed_now};
        random_opts o = {.max_samples = 60, .zero_first = true};
        model m = seed_now % 4 ? mild_model(&r, &a, &o, words) : random_model(&r, &a, &o);
        check_model(&m, false);
        check_model(&m, true);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_any_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
