/* Log lines and systemd messages about the life of the server: start, access warnings, certificate,
 * stop. */
#include "server/internal.h"

#include "net/certificate.h"
#include "base/time.h"
#include "base/ban.h"
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

void server_log(server *s, log_event ev, bool warning, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_write(s->log, &(log_line){.event = ev, .warning = warning, .message = text});
}

/* Logs the URL of the viewer: port 4040 if it is open, otherwise the first address. */
static void log_url(server *s)
{
    char open[SERVER_ADDRESS + 16], text[SERVER_ADDRESS + 64];
    const char *at = s->addresses[0];
    for (size_t i = 0; i < s->n_addresses; i++)
        if (str_ends(str_of(s->addresses[i]), STR(":4040"))) at = s->addresses[i];
    const char *port = strrchr(at, ':');
    if (!port) return;
    bool everywhere = !strncmp(at, "0.0.0.0:", 8) || !strncmp(at, "[::]:", 5);
    snprintf(open, sizeof open, "http%s://%s", s->tls ? "s" : "", everywhere ? "localhost" : at);
    if (everywhere) snprintf(open + strlen(open), sizeof open - strlen(open), "%s", port);
    snprintf(text, sizeof text, "open %s in a browser", open);
    log_write(s->log,
              &(log_line){.event = LOG_READY, .message = text, .fields = {{"url", open, 0}}});
}

/* Warns the operator when clients need no token: TLS alone does not authenticate them. */
static void warn_open(server *s)
{
    const server_config *c = &s->c;
    if (!s->exposed || c->insecure || c->tls.ca || (c->write_tokens && c->read_tokens)) return;
    server_log(s, LOG_LISTEN, true, "anyone who reaches this server may %s without a token: see %s",
               c->write_tokens  ? "query"
               : c->read_tokens ? "send"
                                : "send and query",
               c->write_tokens  ? "--read-tokens"
               : c->read_tokens ? "--write-tokens"
                                : "--write-tokens and --read-tokens");
}

static void on_certificate(void *ctx, const char *text)
{
    server_log(ctx, LOG_CERTIFICATE, true, "%s", text);
}

void server_log_certificate(server *s)
{
    const world *w = loop_world(s->loop);
    s->certificate_at = loop_now(s->loop) + NS_PER_DAY;
    if (!s->tls) return;
    (void)certificate_check(&(certificate_opts){.path = s->c.tls.cert,
                                                .now = w->wall(w->ctx),
                                                .hosts = s->c.hosts.v,
                                                .n_hosts = s->c.hosts.n},
                            on_certificate, s);
}

void server_log_revoked(server *s)
{
    static const char *const may[RIGHTS] = {[RIGHT_WRITE] = "send", [RIGHT_READ] = "query"};
    for (int i = 0; i < RIGHTS; i++) {
        const char *path = guard_empty(s->guard, (right)i);
        if (path)
            server_log(s, LOG_TOKENS, true,
                       "%s contains no tokens: all requests to %s are rejected until it does", path,
                       may[i]);
    }
}

void server_log_start(server *s)
{
    char text[128];
    for (size_t i = 0; server_address(s, i); i++) {
        snprintf(text, sizeof text, "listening on http%s://%s", s->tls ? "s" : "", s->addresses[i]);
        log_write(s->log, &(log_line){.event = LOG_LISTEN,
                                      .message = text,
                                      .fields = {{"address", s->addresses[i], 0},
                                                 {"tls", s->tls ? "true" : "false", 0}}});
    }
    warn_open(s);
    server_log_revoked(s);
    server_log_certificate(s);
    log_url(s);
    notify_send(&s->notify, "READY=1\nSTATUS=listening on %s\nMAINPID=%ld", s->addresses[0],
                (long)getpid());
}

void server_log_stop(server *s)
{
    ingest_counts n = ingest_count(s->ingest);
    log_write(s->log, &(log_line){.event = LOG_STOP,
                                  .message = "stopped",
                                  .fields = {{"taken", NULL, n.taken},
                                             {"profiles", NULL, n.profiles},
                                             {"samples", NULL, n.samples}}});
}
