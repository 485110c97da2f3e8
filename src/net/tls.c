/* OpenSSL sessions that read and write memory of the caller through a custom BIO, so that an idle
 * session holds no buffers.  Also turns OpenSSL's errors into messages with advice. */
#include "net/tls.h"

#include "base/ban.h"
#include <dirent.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

/* TLS 1.2 on servers: only suites with forward secrecy and authenticated encryption.  All suites of
 * TLS 1.3 qualify. */
#define TLS12_SUITES "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!PSK:!SRP"

enum { ALPN_MAX = 64, CHUNK = 16 << 10 };

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *pipe;
    size_t refs; /* references by the owner and by sessions */
    bool server;
    unsigned char alpn[ALPN_MAX]; /* names with length prefixes */
    unsigned n_alpn;
};

struct tls {
    tls_context *of;
    SSL *ssl;
    str from; /* during a call: unread bytes from the peer */
    buf *to;  /* during a call: receives bytes for the peer */
    bool server, ready, ended, began;
    tls_failure failure;
};

/* Returns the last reason in OpenSSL's error queue and clears the queue. */
static const char *reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *why = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return why ? why : "unknown reason";
}

/* Returns the reason why a file cannot be used. */
static const char *reason_of(const char *path)
{
    if (access(path, R_OK) != 0) return ERR_clear_error(), strerror(errno);
    if (ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_PEM_LIB ||
        ERR_GET_REASON(ERR_peek_error()) == PEM_R_NO_START_LINE)
        return ERR_clear_error(), "it contains no valid PEM of this kind (-----BEGIN ...)";
    return reason();
}

/* ---- the BIO: reads and writes memory of the caller ---- */

static int pipe_read(BIO *b, char *out, int n)
{
    tls *t = BIO_get_data(b);
    size_t k = t->from.n < (size_t)n ? t->from.n : (size_t)n;
    BIO_clear_retry_flags(b);
    if (!k) return BIO_set_retry_read(b), -1;
    memcpy(out, t->from.p, k);
    t->from = (str){t->from.p + k, t->from.n - k};
    return (int)k;
}

static int pipe_write(BIO *b, const char *p, int n)
{
    tls *t = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    if (!t->to) return -1;
    buf_put(t->to, p, (size_t)n);
    return t->to->failed ? -1 : n;
}

static long pipe_ctrl(BIO *b, int what, long n, void *p)
{
    (void)b, (void)n, (void)p;
    return what == BIO_CTRL_FLUSH;
}

static bool make_pipe(tls_context *c)
{
    c->pipe = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kiln");
    return c->pipe && BIO_meth_set_read(c->pipe, pipe_read) == 1 &&
           BIO_meth_set_write(c->pipe, pipe_write) == 1 &&
           BIO_meth_set_ctrl(c->pipe, pipe_ctrl) == 1;
}

/* ---- contexts ---- */

static bool set_alpn(tls_context *c, const char *names)
{
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ");
        if (n > 255 || c->n_alpn + n + 1 > ALPN_MAX) return false;
        c->alpn[c->n_alpn++] = (unsigned char)n;
        memcpy(c->alpn + c->n_alpn, p, n);
        c->n_alpn += (unsigned)n;
        p += n + (p[n] == ' ');
    }
    return true;
}

static int choose_alpn(SSL *s, const unsigned char **out, unsigned char *n, const unsigned char *in,
                       unsigned n_in, void *ctx)
{
    (void)s;
    const tls_context *c = ctx;
    unsigned char *picked = NULL;
    if (SSL_select_next_proto(&picked, n, c->alpn, c->n_alpn, in, n_in) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = picked;
    return SSL_TLSEXT_ERR_OK;
}

/* Returns whether the directory contains certificates in files named by hash, such as
 * 0123abcd.0. */
static bool has_hashes(const char *path)
{
    DIR *d = opendir(path);
    bool found = false;
    for (struct dirent *f; d && !found && (f = readdir(d));)
        found = strspn(f->d_name, "0123456789abcdef") == 8 && !strcmp(f->d_name + 8, ".0");
    if (d) closedir(d);
    return found;
}

/* Uses the system's CAs.  Prefers the directory, from which OpenSSL reads single files on demand.
 * Parsing the file with all CAs takes 3 MiB of the host process. */
static void use_machines_list(SSL_CTX *s)
{
    bool reported = secure_getenv(X509_get_default_cert_file_env()) ||
                    secure_getenv(X509_get_default_cert_dir_env());
    if (reported || !has_hashes(X509_get_default_cert_dir()) ||
        SSL_CTX_set_default_verify_dir(s) != 1)
        (void)SSL_CTX_set_default_verify_paths(s);
}

/* Prevents OpenSSL from asking for a password on the terminal. */
static int no_password(char *out, int n, int writes, void *ctx)
{
    (void)out, (void)n, (void)writes;
    *(bool *)ctx = true;
    return -1;
}

static bool use_key(SSL_CTX *s, const tls_files *f, err *e)
{
    const char *key = f->key ? f->key : f->cert;
    bool encrypted = false;
    if (!key) return true;
    SSL_CTX_set_default_passwd_cb(s, no_password);
    SSL_CTX_set_default_passwd_cb_userdata(s, &encrypted);
    bool ok = SSL_CTX_use_PrivateKey_file(s, key, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(s, NULL);
    SSL_CTX_set_default_passwd_cb(s, NULL);
    if (ok) return true;
    int why = ERR_GET_REASON(ERR_peek_last_error());
    if (encrypted)
        err_set(e, ERR_SYS,
                "cannot use the private key in %s: it is encrypted; decrypt it with  openssl pkey",
                key);
    else if (why == X509_R_KEY_VALUES_MISMATCH || why == X509_R_KEY_TYPE_MISMATCH)
        err_set(e, ERR_SYS,
                "the private key in %s does not match the first certificate in %s: put the "
                "certificate of the key first, then its issuers",
                key, f->cert);
    else if (access(key, R_OK) == 0 && !f->key)
        err_set(e, ERR_SYS, "%s contains no private key: set its file with --key or tls.key", key);
    else
        err_set(e, ERR_SYS, "cannot use the private key in %s: %s", key, reason_of(key));
    ERR_clear_error();
    return false;
}

static bool use_files(tls_context *c, const tls_files *f, err *e)
{
    SSL_CTX *s = c->ssl;
    if (f->ca && SSL_CTX_load_verify_locations(s, f->ca, NULL) != 1)
        return err_set(e, ERR_SYS, "cannot use the CA certificates in %s: %s", f->ca,
                       reason_of(f->ca));
    if (!f->ca && !c->server) use_machines_list(s);
    if (f->cert && SSL_CTX_use_certificate_chain_file(s, f->cert) != 1)
        return err_set(e, ERR_SYS, "cannot use the certificate in %s: %s", f->cert,
                       reason_of(f->cert));
    return use_key(s, f, e);
}

static bool prepare(tls_context *c, const tls_files *f, const char *alpn, err *e)
{
    /* No clean-up at exit, because it would run while the exporter's thread still uses OpenSSL. */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    c->ssl = SSL_CTX_new(c->server ? TLS_server_method() : TLS_client_method());
    if (!c->ssl || !set_alpn(c, alpn) || !make_pipe(c))
        return err_set(e, ERR_SYS, "cannot start TLS: %s", reason());
    SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION);
    if (c->server && SSL_CTX_set_cipher_list(c->ssl, TLS12_SUITES) != 1)
        return err_set(e, ERR_SYS, "cannot choose the cipher suites: %s", reason());
    SSL_CTX_set_mode(c->ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
    /* No renegotiation, because it costs a server more than a client.  No session cache, because it
     * uses memory; clients store tickets. */
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
    int demand = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(c->ssl, c->server && !f->ca ? SSL_VERIFY_NONE : demand, NULL);
    /* Needed to resume sessions with client certificates. */
    if (c->server) (void)SSL_CTX_set_session_id_context(c->ssl, (const unsigned char *)"kiln", 4);
    if (c->server)
        SSL_CTX_set_alpn_select_cb(c->ssl, choose_alpn, c);
    else if (c->n_alpn)
        (void)SSL_CTX_set_alpn_protos(c->ssl, c->alpn, c->n_alpn);
    return use_files(c, f, e);
}

tls_context *tls_context_open(bool server, const tls_files *files, const char *alpn, err *e)
{
    tls_context *c = calloc(1, sizeof *c);
    if (!c) return err_memory(e), NULL;
    c->server = server, c->refs = 1;
    if (prepare(c, files, alpn, e)) return c;
    tls_context_close(c);
    return NULL;
}

void tls_context_close(tls_context *c)
{
    if (!c || --c->refs) return;
    SSL_CTX_free(c->ssl);
    BIO_meth_free(c->pipe);
    free(c);
}

/* ---- sessions ---- */

static bool set_host(SSL *s, const char *host)
{
    X509_VERIFY_PARAM *p = SSL_get0_param(s);
    if (X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1) return true; /* no SNI for addresses */
    ERR_clear_error();
    void *name = (void *)(uintptr_t)host; /* SSL_set_tlsext_host_name would cast const away */
    return SSL_set1_host(s, host) == 1 &&
           SSL_ctrl(s, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name) == 1;
}

tls *tls_open(tls_context *c, const char *host, err *e)
{
    tls *t = calloc(1, sizeof *t);
    if (t) *t = (tls){.ssl = SSL_new(c->ssl), .server = c->server};
    BIO *pipe = t && t->ssl ? BIO_new(c->pipe) : NULL;
    if (!pipe || (host && !set_host(t->ssl, host))) {
        err_set(e, ERR_LIMIT, "cannot start a TLS session: %s", reason());
        BIO_free(pipe);
        if (t) SSL_free(t->ssl);
        free(t);
        return NULL;
    }
    BIO_set_data(pipe, t);
    BIO_set_init(pipe, 1);
    SSL_set_bio(t->ssl, pipe, pipe);
    t->of = c, c->refs++;
    if (t->server)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    return t;
}

void tls_free(tls *t)
{
    if (!t) return;
    SSL_free(t->ssl);
    tls_context_close(t->of);
    free(t);
}

/* Explains why SSL_do_handshake or SSL_read failed. */
static bool fail(tls *t, err *e)
{
    long verified = SSL_get_verify_result(t->ssl);
    t->failure = verified != X509_V_OK ? TLS_UNTRUSTED : TLS_FAILED;
    if (verified != X509_V_OK) {
        ERR_clear_error();
        return err_set(e, ERR_UNSUPPORTED, "the certificate of the peer is not trusted: %s",
                       X509_verify_cert_error_string(verified));
    }
    bool alert =
        ERR_GET_REASON(ERR_peek_last_error()) >= SSL_AD_REASON_OFFSET; /* an alert of the peer */
    if (!t->ready || alert)
        return err_set(e, ERR_UNSUPPORTED, "the TLS handshake failed: %s", reason());
    return err_set(e, ERR_MALFORMED, "invalid TLS from the peer: %s", reason());
}

static bool handshake(tls *t, err *e)
{
    ERR_clear_error();
    int r = SSL_do_handshake(t->ssl);
    t->ready = r == 1;
    if (r == 1 || SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_READ) return true;
    return fail(t, e);
}

static bool read_plain(tls *t, buf *plain, err *e)
{
    for (;;) {
        size_t got = 0;
        if (!buf_reserve(plain, CHUNK)) return err_memory(e);
        ERR_clear_error();
        int r = SSL_read_ex(t->ssl, plain->p + plain->n, CHUNK, &got);
        plain->n += got;
        if (r == 1) continue;
        int why = SSL_get_error(t->ssl, r);
        t->ended |= why == SSL_ERROR_ZERO_RETURN;
        /* In TLS 1.3, a server rejects the client's certificate after the handshake. */
        return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_ZERO_RETURN || fail(t, e);
    }
}

bool tls_feed(tls *t, str bytes, buf *plain, buf *wire, err *e)
{
    if (bytes.n && !t->began && !t->server && !tls_begins((unsigned char)bytes.p[0])) {
        t->failure = TLS_PLAINTEXT;
        return err_set(e, ERR_UNSUPPORTED, "the peer speaks plaintext, not TLS");
    }
    t->began |= bytes.n > 0;
    t->from = bytes, t->to = wire;
    bool ok = t->ready || handshake(t, e);
    if (ok && t->ready && !t->ended) ok = read_plain(t, plain, e);
    t->from = (str){0}, t->to = NULL; /* the rest is not needed */
    return ok && (!wire->failed || err_memory(e));
}

bool tls_seal(tls *t, str plain, buf *wire, err *e)
{
    bool ok = true;
    t->to = wire;
    for (size_t sent = 0; ok && plain.n; plain = (str){plain.p + sent, plain.n - sent}) {
        ERR_clear_error();
        ok = SSL_write_ex(t->ssl, plain.p, plain.n, &sent) == 1 ||
             err_set(e, ERR_SYS, "cannot encrypt: %s", reason());
    }
    t->to = NULL;
    if (!ok) return false;
    return !wire->failed || err_memory(e);
}

void tls_end(tls *t, buf *wire)
{
    t->to = wire;
    if (t->ready) (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
    t->to = NULL;
}

tls_failure tls_failure_of(const tls *t) { return t->failure; }
bool tls_ready(const tls *t) { return t->ready; }
bool tls_ended(const tls *t) { return t->ended; }

str tls_alpn(const tls *t)
{
    const unsigned char *p;
    unsigned n;
    SSL_get0_alpn_selected(t->ssl, &p, &n);
    return (str){(const char *)p, n};
}
