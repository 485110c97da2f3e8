/* Loads token files and compares tokens in constant time.  Only SHA-256 digests stay in memory. */
#include "server/guard.h"

#include "sys/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "wire/base64.h"
#include "base/ban.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { TOKENS = 256, TOKEN_LEAST = 16, TOKEN_MOST = 512, FILE_MOST = 256 << 10, BASIC_MOST = 2048 };

typedef struct digest {
    uint8_t v[SHA256_BYTES];
} digest;

typedef struct token_file {
    const char *path;
    struct timespec changed;
    off_t bytes;
    digest tokens[TOKENS];
    size_t n;
} token_file;

struct guard {
    token_file files[RIGHTS];
};

static void digest_of(str text, digest *out)
{
    sha256 s;
    sha256_init(&s);
    sha256_put(&s, text.p, text.n);
    sha256_end(&s, out->v);
}

static bool token_valid(str t)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.p[i] <= ' ' || t.p[i] > '~') return false;
    return t.n >= TOKEN_LEAST && t.n <= TOKEN_MOST;
}

static bool take_line(token_file *f, str text, size_t number, err *e)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != ' ' && text.p[n] != '\t' && text.p[n] != '\r') n++;
    str token = {text.p, n};
    if (!text.n || text.p[0] == '#' || !n) return true;
    if (!token_valid(token))
        return err_set(e, ERR_MALFORMED,
                       "%s: line %zu: a token must have %d to %d visible characters", f->path,
                       number, TOKEN_LEAST, TOKEN_MOST);
    if (f->n == TOKENS) return err_set(e, ERR_LIMIT, "%s: more than %d tokens", f->path, TOKENS);
    digest_of(token, &f->tokens[f->n++]);
    return true;
}

static bool take_text(token_file *f, str text, err *e)
{
    for (size_t number = 1; text.n; number++) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        if (!take_line(f, (str){text.p, n}, number, e)) return false;
        n += end != NULL;
        text = (str){text.p + n, text.n - n};
    }
    return true; /* an empty file revokes all tokens */
}

static bool load(token_file *f, const struct stat *st, err *e)
{
    token_file next = {.path = f->path, .changed = st->st_mtim, .bytes = st->st_size};
    file_bytes b;
    if (st->st_mode & S_IRWXO)
        return err_set(e, ERR_SYS, "%s: other users may read this token file: run chmod o-rwx",
                       f->path);
    if (st->st_size > FILE_MOST) return err_set(e, ERR_LIMIT, "%s: too large", f->path);
    if (!file_read(f->path, FILE_MOST, &b, e)) return false;
    bool ok = take_text(&next, b.bytes, e);
    file_release(&b);
    if (ok) *f = next;
    return ok;
}

static bool refresh(token_file *f, bool *read, err *e)
{
    struct stat st;
    if (!f->path) return true;
    if (stat(f->path, &st) != 0) return err_sys(e, errno, "cannot read the tokens in %s", f->path);
    bool same = st.st_size == f->bytes && st.st_mtim.tv_sec == f->changed.tv_sec &&
                st.st_mtim.tv_nsec == f->changed.tv_nsec;
    if (same) return true;
    if (!load(f, &st, e)) return false;
    *read = true;
    return true;
}

guard *guard_open(const char *write_file, const char *read_file, err *e)
{
    guard *g = calloc(1, sizeof *g);
    bool read;
    if (!g) return err_memory(e), NULL;
    g->files[RIGHT_WRITE].path = write_file;
    g->files[RIGHT_READ].path = read_file;
    if (refresh(&g->files[RIGHT_WRITE], &read, e) && refresh(&g->files[RIGHT_READ], &read, e))
        return g;
    guard_close(g);
    return NULL;
}

void guard_close(guard *g) { free(g); }

bool guard_refresh(guard *g, err *e)
{
    bool read = false;
    for (int i = 0; i < RIGHTS;
         i++) { /* an error in one file must not delay a revocation in the other */
        err own = {0};
        if (!refresh(&g->files[i], &read, &own) && !e->code) *e = own;
    }
    return read;
}

static bool equal(const digest *a, const digest *b)
{
    unsigned differ = 0;
    for (size_t i = 0; i < sizeof a->v; i++) differ |= (unsigned)(a->v[i] ^ b->v[i]);
    return !differ;
}

const char *guard_empty(const guard *g, right r)
{
    const token_file *f = &g->files[r];
    return f->path && !f->n ? f->path : NULL;
}

bool guard_has(const guard *g, right r) { return g->files[r].path != NULL; }

/* Removes the scheme of an Authorization header. */
static bool take_scheme(str header, const char *scheme, str *rest)
{
    size_t n = strlen(scheme);
    if (header.n <= n || strncasecmp(header.p, scheme, n) != 0 || header.p[n] != ' ') return false;
    *rest = str_trim_left((str){header.p + n, header.n - n});
    return rest->n > 0;
}

/* Sets *token to the password of "user:password" in base64, decoded into `bytes`. A text that is
 * too long or not of this form has an empty password, which is never a token. */
static void take_password(str text, uint8_t bytes[BASIC_MOST], str *token)
{
    size_t n;
    *token = (str){0};
    if (base64_max(text.n) > BASIC_MOST || !base64_decode(text, bytes, &n)) return;
    const uint8_t *colon = n ? memchr(bytes, ':', n) : NULL;
    if (colon) *token = (str){(const char *)colon + 1, (size_t)(bytes + n - colon - 1)};
}

guard_verdict guard_check(const guard *g, right r, const http_message *m)
{
    const token_file *f = &g->files[r];
    uint8_t basic[BASIC_MOST];
    if (!f->path) return GUARD_OPEN;
    str header = http_headers_get(&m->head, "authorization"), sent;
    if (take_scheme(header, "Basic", &sent))
        take_password(sent, basic, &sent);
    else if (!take_scheme(header, "Bearer", &sent))
        return GUARD_NO_TOKEN;
    digest d;
    bool found = false;
    digest_of(sent, &d);
    for (size_t i = 0; i < f->n; i++) found |= equal(&d, &f->tokens[i]);
    return found ? GUARD_OPEN : GUARD_WRONG_TOKEN;
}
