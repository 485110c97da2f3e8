/* Checks certificates with problems at simulated times. */
#include "net/certificate.h"

#include "../../support/test.h"
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

#define DAY INT64_C(86400)
#define NOON INT64_C(1789000000) /* seconds */

static char pem[] = "/tmp/kiln-certificate-XXXXXX";
static char reported[8][512];
static size_t n_reported;

typedef struct maker {
    const char *name, *names; /* names: subjectAltName, or NULL */
    int64_t from, to;         /* seconds */
} maker;

static X509 *make(const maker *m, EVP_PKEY *key, const X509 *issuer, EVP_PKEY *issuer_key)
{
    X509 *x = X509_new();
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    ASN1_TIME_set(X509_getm_notBefore(x), (time_t)m->from);
    ASN1_TIME_set(X509_getm_notAfter(x), (time_t)m->to);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)m->name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
    X509_set_pubkey(x, key);
    X509_EXTENSION *san =
        m->names ? X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, m->names) : NULL;
    if (san) X509_add_ext(x, san, -1);
    assert_true(X509_sign(x, issuer_key ? issuer_key : key, EVP_sha256()) > 0);
    X509_EXTENSION_free(san);
    return x;
}

static void put(X509 *const *v, size_t n)
{
    FILE *f = fopen(pem, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) assert_true(PEM_write_X509(f, v[i]));
    fclose(f);
}

static void on_problem(void *ctx, const char *text)
{
    (void)ctx;
    assert_true(n_reported < ARRAY_LEN(reported));
    snprintf(reported[n_reported++], sizeof reported[0], "%s", text);
}

static size_t check(int64_t now, const char *host)
{
    str name = host ? str_of(host) : (str){0};
    n_reported = 0;
    size_t n = certificate_check(&(certificate_opts){.path = pem,
                                                     .now = (uint64_t)now * UINT64_C(1000000000),
                                                     .hosts = &name,
                                                     .n_hosts = host != NULL},
                                 on_problem, NULL);
    assert_int_equal(n, n_reported);
    return n;
}

static void assert_reported(const char *want)
{
    assert_int_equal(n_reported, 1);
    if (!strstr(reported[0], want)) fail_msg("%s", reported[0]);
    assert_int_equal(strncmp(reported[0], pem, strlen(pem)),
                     0); /* the message starts with the file */
}

static void test_time(void **state)
{
    (void)state;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    static const maker quarter = {"kiln", "DNS:kiln", NOON, NOON + 90 * DAY},
                       hours = {"kiln", "DNS:kiln", NOON, NOON + 4 * DAY};
    X509 *x = make(&quarter, key, NULL, NULL);
    put(&x, 1);
    assert_int_equal(check(NOON + 1, NULL), 0);
    assert_int_equal(check(NOON + 83 * DAY - 1, NULL), 0);
    check(NOON + 83 * DAY + 1, NULL); /* less than a week before it expires */
    assert_reported("the certificate expires on 2026-12-09 00:26 UTC, in 167 hours: replace it");
    check(NOON + 90 * DAY, NULL);
    assert_reported(
        "the certificate expired on 2026-12-09 00:26 UTC: clients reject it; replace it");
    check(NOON - 1, NULL);
    assert_reported(
        "the certificate is not valid before 2026-09-10 00:26 UTC: clients reject it; check "
        "the clock");
    X509_free(x);
    x = make(&hours, key, NULL, NULL); /* a lifetime of four days: no warning on the first day */
    put(&x, 1);
    assert_int_equal(check(NOON + DAY, NULL), 0);
    check(NOON + 3 * DAY + 3600, NULL);
    assert_reported("in 23 hours");
    X509_free(x);
    EVP_PKEY_free(key);
}

static void test_names(void **state)
{
    (void)state;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    static const maker named = {"kiln", "DNS:kiln.example.com,IP:10.0.0.7", NOON, NOON + 90 * DAY},
                       nameless = {"kiln.example.com", NULL, NOON, NOON + 90 * DAY};
    X509 *x = make(&named, key, NULL, NULL);
    put(&x, 1);
    assert_int_equal(check(NOON + 1, "kiln.example.com"), 0);
    assert_int_equal(check(NOON + 1, "kiln.example.com:4040"), 0);
    assert_int_equal(check(NOON + 1, "10.0.0.7"), 0);
    check(NOON + 1, "other.example.com");
    assert_reported("the certificate does not cover other.example.com, which `hosts` lists");
    X509_free(x);
    x = make(&nameless, key, NULL, NULL);
    put(&x, 1);
    check(NOON + 1, "kiln.example.com");
    assert_reported("names no host: clients reject it; create one with a subjectAltName");
    X509_free(x);
    EVP_PKEY_free(key);
}

static void test_chain(void **state)
{
    (void)state;
    EVP_PKEY *root_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    static const maker root = {"root", "DNS:root", NOON, NOON + 90 * DAY},
                       own = {"kiln", "DNS:kiln", NOON, NOON + 90 * DAY},
                       old = {"old", "DNS:old", NOON - 9 * DAY, NOON - DAY};
    X509 *ca = make(&root, root_key, NULL, NULL), *x = make(&own, key, ca, root_key),
         *other = make(&old, root_key, NULL, NULL);
    put((X509 *[]){x, ca}, 2);
    assert_int_equal(check(NOON + 1, NULL), 0);
    put((X509 *[]){x, x, ca}, 3);
    check(NOON + 1, NULL);
    assert_reported("certificate 2 did not sign certificate 1: put the server's certificate first");
    put((X509 *[]){x, other}, 2);
    assert_int_equal(check(NOON + 1, NULL), 2);
    assert_non_null(strstr(reported[0], "certificate 2 expired on"));
    assert_non_null(strstr(reported[1], "certificate 2 did not sign certificate 1"));
    put(NULL, 0); /* tls_context_open reports a missing file */
    assert_int_equal(check(NOON + 1, NULL), 0);
    X509_free(ca), X509_free(x), X509_free(other);
    EVP_PKEY_free(key), EVP_PKEY_free(root_key);
}

int main(void)
{
    int fd = mkstemp(pem);
    if (fd < 0) return 1;
    close(fd);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_time), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_chain)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(pem);
    return failed;
}
