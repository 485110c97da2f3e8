/* Tests endpoints: paths, parameters, and the OpenAPI document. */
#include "server/routes.h"

#include "../../support/test.h"
#include "server/openapi.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *path, *route, *rest; /* route NULL: none */
    } cases[] = {
        {"tree", "tree", ""},
        {"tree/", NULL, ""},
        {"trees", NULL, ""},
        {"", NULL, ""},
        {"labels", "labels", ""},
        {"labels/", NULL, ""},
        {"labels/service.name", "labels/{key}", "service.name"},
        {"labels/a/b", "labels/{key}", "a/b"},
        {"profiles/0a", "profiles/{id}", "0a"},
        {"profiles/0a/original", "profiles/{id}/original", "0a"},
        {"profiles//original", "profiles/{id}", "/original"},
        {"profiles/original", "profiles/{id}", "original"},
        {"status", NULL, ""}, /* served by the loop */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str rest = {0};
        const api_route *r = api_route_of(str_of(cases[i].path), &rest);
        if (!r || !cases[i].route)
            assert_true(!r && !cases[i].route);
        else
            assert_string_equal(r->path, cases[i].route);
        if (r) assert_true(str_eq(rest, str_of(cases[i].rest)));
    }
}

static void test_params(void **state)
{
    (void)state;
    str rest;
    const api_route *tree = api_route_of(STR("tree"), &rest),
                    *counts = api_route_of(STR("counts"), &rest);
    assert_int_equal(api_route_param(tree, STR("by"))->kind, API_WORD);
    assert_int_equal(api_route_param(counts, STR("by"))->kind, API_TEXT);
    assert_null(api_route_param(tree, STR("step")));
    assert_null(api_route_param(tree, STR("quer")));
    for (size_t i = 0; i < api_n_routes; i++) { /* no duplicate names in one endpoint */
        for (size_t a = 0; a < API_N_PARAMS; a++)
            for (size_t b = 0; b < a; b++)
                assert_false((api_routes[i].params >> a & 1) && (api_routes[i].params >> b & 1) &&
                             !strcmp(api_params[a].name, api_params[b].name));
        assert_true(api_routes[i].shape || api_routes[i].file ||
                    (api_routes[i].params & (API_PUT | API_DELETE)));
    }
}

/* docs/openapi.json equals the served document. */
static void test_document(void **state)
{
    (void)state;
    buf b = {0};
    err e = {0};
    arena a = {0};
    openapi_put(&b);
    json j = json_open(b.p, b.n, &a, &e);
    assert_int_equal(json_next(&j), JSON_OBJECT);
    assert_true(json_skip_open(&j));
    assert_true(json_finish(&j));
    const char *src = getenv("KILN_SRC");
    if (src) {
        char path[1000];
        snprintf(path, sizeof path, "%s/docs/openapi.json", src);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        char *copy = malloc(b.n + 1);
        assert_non_null(copy);
        size_t n = fread(copy, 1, b.n + 1, f);
        fclose(f);
        assert_int_equal(n, b.n);
        assert_memory_equal(copy, b.p, n);
        free(copy);
    }
    arena_free(&a);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
