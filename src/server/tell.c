/* What the server says of its own life, on the log and to systemd. */
#include "server/internal.h"

#include "net/certificate.h"
#include "base/ban.h"
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define DAY_NS (86400 * NS_PER_S)

void server_say(server *s, log_event ev, bool trouble, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_write(s->log, &(log_line){.event = ev, .trouble = trouble, .sentence = text});
}

/* Where a person looks: the usual port, or the first address; "everywhere" is here, too. */
static void tell_url(server *s)
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
              &(log_line){.event = LOG_READY, .sentence = text, .facts = {{"url", open, 0}}});
}

/* TLS alone says who we are, not who they are: nobody should find that out later. */
static void tell_open(server *s)
{
    const server_config *c = &s->c;
    if (!s->exposed || c->insecure || c->tls.ca || (c->write_tokens && c->read_tokens)) return;
    server_say(s, LOG_LISTEN, true, "whoever reaches us may %s without a token: see %s",
               c->write_tokens  ? "ask"
               : c->read_tokens ? "send"
                                : "send and ask",
               c->write_tokens  ? "--read-tokens"
               : c->read_tokens ? "--write-tokens"
                                : "--write-tokens and --read-tokens");
}

static void on_certificate(void *who, const char *text)
{
    server_say(who, LOG_CERTIFICATE, true, "%s", text);
}

void server_tell_certificate(server *s)
{
    const world *w = loop_world(s->loop);
    s->certificate_at = loop_now(s->loop) + DAY_NS;
    if (!s->tls) return;
    (void)certificate_check(&(certificate_opts){.path = s->c.tls.cert,
                                                .now = w->wall(w->who),
                                                .hosts = s->c.hosts.v,
                                                .n_hosts = s->c.hosts.n},
                            on_certificate, s);
}

void server_tell_revoked(server *s)
{
    static const char *const may[RIGHTS] = {[RIGHT_WRITE] = "send", [RIGHT_READ] = "query"};
    for (int i = 0; i < RIGHTS; i++) {
        const char *path = guard_empty(s->guard, (right)i);
        if (path)
            server_say(s, LOG_TOKENS, true, "%s has no token: nobody may %s until it has one", path,
                       may[i]);
    }
}

void server_tell_start(server *s)
{
    char text[128];
    for (size_t i = 0; server_address(s, i); i++) {
        snprintf(text, sizeof text, "listening on http%s://%s", s->tls ? "s" : "", s->addresses[i]);
        log_write(s->log, &(log_line){.event = LOG_LISTEN,
                                      .sentence = text,
                                      .facts = {{"address", s->addresses[i], 0},
                                                {"tls", s->tls ? "true" : "false", 0}}});
    }
    tell_open(s);
    server_tell_revoked(s);
    server_tell_certificate(s);
    tell_url(s);
    notify_say(&s->notify, "READY=1\nSTATUS=listening on %s\nMAINPID=%ld", s->addresses[0],
               (long)getpid());
}

void server_tell_stop(server *s)
{
    ingest_counts n = ingest_count(s->ingest);
    log_write(s->log, &(log_line){.event = LOG_STOP,
                                  .sentence = "stopped",
                                  .facts = {{"taken", NULL, n.taken},
                                            {"profiles", NULL, n.profiles},
                                            {"samples", NULL, n.samples}}});
}
