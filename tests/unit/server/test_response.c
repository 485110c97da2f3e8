/* Tests responses and their two encodings, as docs/query-api.md describes them. */
#include "server/response.h"

#include "../../support/test.h"
#include "wire/json.h"

#include <string.h>

static void test_json(void **state)
{
    (void)state;
    arena a = {0};
    response w;
    buf b = {0};
    err e = {0};
    static const int64_t ints[] = {-1, INT64_MAX};
    static const uint64_t uints[] = {UINT64_MAX};
    static const uint32_t ids[] = {0, UINT32_MAX};
    static const double reals[] = {0.5};
    static const str texts[] = {STR("a\"b"), {NULL, 0}};
    response_init(&w, &a);
    response_bool(&w.root, "yes", true);
    response_i64(&w.root, "i", -5);
    response_u64(&w.root, "u", UINT64_MAX);
    response_f64(&w.root, "d", 0.25);
    response_text(&w.root, "t", STR("x"));
    response_text(&w.root, "none", (str){0});
    response_hex(&w.root, "h", (const uint8_t *)"\x0a\xff", 2);
    response_node *list = response_list(&w.root, "list");
    response_i64(response_object(list, NULL), "n", 1);
    response_object(list, NULL);
    response_node *o = response_object(&w.root, "columns");
    response_i64s(o, "i", ints, 2);
    response_u64s(o, "u", uints, 1);
    response_u32s(o, "id", ids, 2);
    response_f64s(o, "d", reals, 1);
    response_texts(o, "t", texts, 2);
    response_attributes(&w.root, "attributes", NULL, 0);
    assert_true(response_json(&w, &b, &e));
    static const char want[] =
        "{\"yes\":true,\"i\":-5,\"u\":18446744073709551615,\"d\":0.25,\"t\":\"x\",\"none\":\"\","
        "\"h\":\"0aff\","
        "\"list\":[{\"n\":1},{}],\"columns\":{\"i\":[-1,9223372036854775807],\"u\":["
        "18446744073709551615],"
        "\"id\":[0,-1],\"d\":[0.5],\"t\":[\"a\\\"b\",\"\"]},\"attributes\":{}}";
    assert_int_equal(b.n, strlen(want));
    assert_memory_equal(b.p, want, b.n);
    buf_free(&b);
    arena_free(&a);
}

/* A column has the smallest type that can represent all of its numbers. */
static void test_binary_types(void **state)
{
    (void)state;
    static const struct {
        int64_t v[2];
        const char *type;
        size_t size;
    } cases[] = {
        {{0, 255}, "u8", 1},
        {{0, 256}, "u16", 2},
        {{1, 65536}, "u32", 4},
        {{0, UINT32_MAX}, "u32", 4},
        {{-1, 1}, "i32", 4},
        {{INT32_MIN, INT32_MAX}, "i32", 4},
        {{-1, UINT32_MAX}, "f64", 8},
        {{0, INT64_C(1) << 53}, "f64", 8},
        {{0, (INT64_C(1) << 53) + 1}, "i64", 8},
        {{INT64_MIN, INT64_MAX}, "i64", 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        response w;
        buf b = {0};
        err e = {0};
        char head[120];
        uint32_t words[3];
        response_init(&w, &a);
        response_i64s(&w.root, "c", cases[i].v, 2);
        assert_true(response_binary(&w, &b, &e));
        snprintf(head, sizeof head,
                 "{\"answer\":{\"c\":null},\"columns\":[{\"path\":[\"c\"],\"type\":\"%s\",\"at\":0,"
                 "\"n\":2}]}",
                 cases[i].type);
        assert_memory_equal(b.p, "KLNA", 4);
        memcpy(words, b.p + 4, sizeof words);
        assert_int_equal(words[0], 1);
        assert_int_equal(words[1], strlen(head));
        assert_int_equal(words[2], (16 + strlen(head) + 7) / 8 * 8);
        assert_memory_equal(b.p + 16, head, strlen(head));
        for (size_t k = 16 + strlen(head); k < words[2]; k++) assert_int_equal(b.p[k], 0);
        for (size_t k = 0; k < 2; k++) {
            int64_t got = 0;
            double d;
            const char *at = b.p + words[2] + k * cases[i].size;
            memcpy(&got, at, cases[i].size);
            memcpy(&d, at, cases[i].size == 8 ? 8 : 0);
            if (!strcmp(cases[i].type, "f64")) got = (int64_t)d;
            if (!strcmp(cases[i].type, "i32")) got = (int32_t)got;
            assert_true(got == cases[i].v[k]);
        }
        assert_int_equal(b.n, words[2] + (2 * cases[i].size + 7) / 8 * 8);
        buf_free(&b);
        arena_free(&a);
    }
}

static void test_binary_texts(void **state)
{
    (void)state;
    arena a = {0};
    response w;
    buf b = {0};
    err e = {0};
    static const str texts[] = {STR("ab"), {NULL, 0}, STR("\xc3\xa9")};
    static const uint32_t ids[] = {UINT32_MAX, 3};
    response_init(&w, &a);
    response_texts(&w.root, "t", texts, 3);
    response_u32s(&w.root, "i", ids, 2);
    response_texts(&w.root, "none", NULL, 0);
    assert_true(response_binary(&w, &b, &e));
    uint32_t words[3], offsets[4], at;
    memcpy(words, b.p + 4, sizeof words);
    memcpy(offsets, b.p + words[2], sizeof offsets);
    static const uint32_t want[] = {0, 2, 2, 4};
    assert_memory_equal(offsets, want, sizeof want);
    assert_memory_equal(b.p + words[2] + 16, "ab\xc3\xa9\0\0\0\0", 8); /* the text and padding */
    static const int32_t numbers[] = {-1, 3};
    assert_memory_equal(b.p + words[2] + 24, numbers, sizeof numbers);
    memcpy(&at, b.p + words[2] + 32, sizeof at); /* the single offset of an empty column */
    assert_int_equal(at, 0);
    assert_int_equal(b.n, words[2] + 40);
    buf_free(&b);
    arena_free(&a);
}

/* Marked parts are halved together until nothing is left. */
static void test_shorten(void **state)
{
    (void)state;
    arena a = {0};
    response w;
    static const int64_t v[5] = {1, 2, 3, 4, 5};
    size_t left;
    response_init(&w, &a);
    response_i64s(&w.root, "stays", v, 5);
    response_node *rows = response_object(&w.root, "rows");
    response_i64s(rows, "a", v, 5);
    response_i64s(rows, "b", v, 5);
    response_node *list = response_list(&w.root, "list");
    for (int i = 0; i < 3; i++) response_i64(list, NULL, i);
    response_may_cut(rows);
    response_may_cut(list);
    static const struct {
        size_t left;
        const char *json;
    } steps[] = {
        {2, "{\"stays\":[1,2,3,4,5],\"rows\":{\"a\":[1,2],\"b\":[1,2]},\"list\":[0,1]}"},
        {1, "{\"stays\":[1,2,3,4,5],\"rows\":{\"a\":[1],\"b\":[1]},\"list\":[0]}"},
        {0, "{\"stays\":[1,2,3,4,5],\"rows\":{\"a\":[],\"b\":[]},\"list\":[]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        buf b = {0};
        err e = {0};
        assert_true(response_shorten(&w, &left));
        assert_int_equal(left, steps[i].left);
        assert_true(response_json(&w, &b, &e));
        assert_int_equal(b.n, strlen(steps[i].json));
        assert_memory_equal(b.p, steps[i].json, b.n);
        buf_free(&b);
    }
    assert_false(response_shorten(&w, &left));
    arena_free(&a);
}

/* With any memory and byte limit the result is a response or an error. */
static void test_budgets(void **state)
{
    (void)state;
    static const int64_t v[100];
    for (size_t budget = 64; budget < 8192; budget += 64) {
        arena a = {.budget = budget};
        response w;
        response_init(&w, &a);
        for (int i = 0; i < 20; i++) {
            response_node *o = response_object(&w.root, "o");
            response_i64s(o, "v", v, 100);
            response_text(response_list(o, "l"), NULL, STR("x"));
        }
        for (size_t limit = 1; limit < 8192; limit += 999)
            for (int i = 0; i < RESPONSE_ENCODINGS && !w.failed; i++) {
                buf b = {.limit = limit};
                err e = {0};
                bool ok = response_encodings[i].encode(&w, &b, &e);
                assert_true(ok ? b.n <= limit : e.code == ERR_LIMIT);
                buf_free(&b);
            }
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),         cmocka_unit_test(test_binary_types),
        cmocka_unit_test(test_binary_texts), cmocka_unit_test(test_shorten),
        cmocka_unit_test(test_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
