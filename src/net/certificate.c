/* Checks validity, chain order and names with OpenSSL.  Not part of tls.c, because these problems
 * do not prevent the server from starting. */
#include "net/certificate.h"

#include "base/ban.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 16, LINE = 512, WEEK = 7 * 86400, HOST = 256 };

typedef struct checking {
    const certificate_opts *o;
    void (*problem)(void *ctx, const char *line);
    void *ctx;
    size_t n;
} checking;

static void report(checking *k, const char *fmt, ...) PRINTF(2, 3);
static void report(checking *k, const char *fmt, ...)
{
    char text[LINE];
    int n = snprintf(text, sizeof text, "%s: ", k->o->path);
    va_list ap;
    va_start(ap, fmt);
    if (n > 0 && n < LINE) vsnprintf(text + n, (size_t)(LINE - n), fmt, ap);
    va_end(ap);
    k->n++;
    k->problem(k->ctx, text);
}

/* ---- time ---- */

static bool seconds_of(const ASN1_TIME *t, time_t *out)
{
    struct tm tm;
    if (!t || ASN1_TIME_to_tm(t, &tm) != 1) return false;
    *out = timegm(&tm);
    return true;
}

static const char *date(time_t t, char out[32])
{
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M UTC", &tm)) out[0] = '\0';
    return out;
}

static void check_time(checking *k, const X509 *x, size_t i)
{
    time_t from, to, now = (time_t)(k->o->now / UINT64_C(1000000000));
    char at[32], which[32] = "the certificate";
    if (i) snprintf(which, sizeof which, "certificate %zu", i + 1);
    if (!seconds_of(X509_get0_notBefore(x), &from) || !seconds_of(X509_get0_notAfter(x), &to))
        return;
    time_t soon = (to - from) / 4 < WEEK ? (to - from) / 4 : WEEK;
    if (now >= to)
        report(k, "%s expired on %s: clients reject it; replace it, then send SIGHUP", which,
               date(to, at));
    else if (now < from)
        report(k, "%s is not valid before %s: clients reject it; check the clock, or replace it",
               which, date(from, at));
    else if (to - now < soon)
        report(k, "%s expires on %s, in %lld hours: replace it, then send SIGHUP", which,
               date(to, at), (long long)(to - now) / 3600);
}

/* ---- names ---- */

static bool is_for(X509 *x, str host)
{
    char name[HOST];
    const char *colon = host.n ? memchr(host.p, ':', host.n) : NULL;
    size_t n = colon ? (size_t)(colon - host.p) : host.n;
    snprintf(name, sizeof name, "%.*s", (int)(n < HOST ? n : HOST - 1), host.p);
    return X509_check_host(x, name, 0, 0, NULL) == 1 || X509_check_ip_asc(x, name, 0) == 1;
}

static void check_names(checking *k, X509 *x)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    if (!names) {
        report(
            k,
            "the certificate names no host: clients reject it; create one with a subjectAltName");
        return;
    }
    GENERAL_NAMES_free(names);
    for (size_t i = 0; i < k->o->n_hosts; i++)
        if (!is_for(x, k->o->hosts[i]))
            report(
                k,
                "the certificate does not cover %.*s, which `hosts` lists: clients that use this "
                "name reject it",
                STR_ARG(k->o->hosts[i]));
}

/* ---- the chain ---- */

static size_t read_all(const char *path, X509 *out[MOST])
{
    size_t n = 0;
    FILE *f = fopen(path, "re");
    while (f && n < MOST && (out[n] = PEM_read_X509(f, NULL, NULL, NULL))) n++;
    if (f) fclose(f);
    ERR_clear_error();
    return n;
}

size_t certificate_check(const certificate_opts *o, void (*problem)(void *ctx, const char *line),
                         void *ctx)
{
    checking k = {.o = o, .problem = problem, .ctx = ctx};
    X509 *v[MOST];
    size_t n = read_all(o->path, v);
    for (size_t i = 0; i < n; i++) check_time(&k, v[i], i);
    for (size_t i = 1; i < n; i++)
        if (X509_check_issued(v[i], v[i - 1]) != X509_V_OK)
            report(
                &k,
                "certificate %zu did not sign certificate %zu: put the server's certificate first, "
                "then its issuer, and so on",
                i + 1, i);
    if (n) check_names(&k, v[0]);
    for (size_t i = 0; i < n; i++) X509_free(v[i]);
    ERR_clear_error();
    return k.n;
}
