#include "support/test.h"

#include "base/sha256.h"
#include "model/model.h"

/* FIPS 180-2, appendix B; the last value is from coreutils' sha256sum of a million `a`. */
static const struct {
    const char *text;
    size_t times;
    const char *want;
} cases[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void test_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        sha256 s;
        uint8_t out[SHA256_BYTES];
        char hex[2 * SHA256_BYTES + 1];
        sha256_init(&s);
        for (size_t k = 0; k < cases[i].times; k++)
            sha256_put(&s, cases[i].text, strlen(cases[i].text));
        sha256_end(&s, out);
        hex_encode(out, sizeof out, hex);
        assert_string_equal(hex, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
