#include "server/forward.h"

#include "base/ban.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SIGNALS = 2 };

typedef struct lane {
    otlp_config config;
    exporter *exporter;
    char *spool;
    logger *log;
} lane;

struct forward {
    arena arena;
    lane lanes[SIGNALS];
};

static const char *no_variable(void *who, const char *name)
{
    (void)who, (void)name;
    return NULL;
}

static bool configure(const forward_config *c, otlp_signal s, arena *a, otlp_config *out, err *e)
{
    otlp_environment none = {.get = no_variable};
    url u;
    if (!otlp_config_read(s, &none, a, out, e)) return false;
    out->set_endpoint = "forward.to: ", out->set_protocol = "forward.protocol: ",
    out->set_ca = "forward.ca: ";
    out->tls = c->tls;
    if (c->protocol && !otlp_protocol_parse(str_of(c->protocol), &out->protocol))
        return err_set(e, ERR_USAGE, "forward.protocol: kiln speaks grpc and http/protobuf");
    if (c->compression && !otlp_codec_parse(str_of(c->compression), &out->codec))
        return err_set(e, ERR_USAGE, "forward.compression: kiln knows none, gzip and zstd");
    for (size_t i = 0; i < c->headers.n; i++)
        if (!otlp_config_header(out, c->headers.v[i], a))
            return err_set(e, ERR_USAGE, "forward.headers wants NAME=VALUE");
    if (!url_parse(str_of(c->to), &u, e)) return false;
    if (u.path.n > 1) /* profiles and logs have one each */
        return err_set(e, ERR_USAGE, "%s: forward wants an address without a path", c->to);
    return otlp_config_address(out, str_of(c->to), !c->protocol, a, e);
}

bool forward_check(const forward_config *c, err *e)
{
    arena a = {0};
    otlp_config k;
    bool ok = !c->to || configure(c, OTLP_PROFILES, &a, &k, e);
    tls_context *t = NULL;
    if (ok && c->to && k.to.tls) ok = (t = tls_context_open(false, &k.tls, "h2", e)) != NULL;
    tls_context_close(t);
    arena_free(&a);
    return ok;
}

/* In the exporter's thread. */
static void on_say(void *who, const char *sentence)
{
    const lane *l = who;
    log_write(l->log, &(log_line){.event = LOG_FORWARD,
                                  .trouble = true,
                                  .sentence = sentence,
                                  .facts = {{"signal", otlp_signal_name(l->config.signal), 0}}});
}

static bool make_spool(lane *l, const char *dir, err *e)
{
    if (!dir) return true;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make the spool %s", dir);
    if (asprintf(&l->spool, "%s/%s", dir, otlp_signal_name(l->config.signal)) >= 0) return true;
    l->spool = NULL;
    return err_set(e, ERR_LIMIT, "out of memory");
}

static bool open_lane(forward *f, const forward_config *c, otlp_signal s, logger *log, err *e)
{
    lane *l = &f->lanes[s];
    l->log = log;
    if (!configure(c, s, &f->arena, &l->config, e) || !make_spool(l, c->spool, e)) return false;
    exporter_opts x = {
        .sender = {.config = &l->config, .agent = "kiln/" KILN_VERSION, .say = on_say, .who = l},
        .spool_dir = l->spool,
        .spool_max = c->spool_max,
        .max_queue = c->queue};
    l->exporter = exporter_open(&x, e);
    return l->exporter != NULL;
}

forward *forward_open(const forward_config *c, logger *log, err *e)
{
    forward *f = calloc(1, sizeof *f);
    if (!f) return err_set(e, ERR_LIMIT, "out of memory"), NULL;
    if (open_lane(f, c, OTLP_PROFILES, log, e) && open_lane(f, c, OTLP_LOGS, log, e)) return f;
    forward_close(f, 0);
    return NULL;
}

void forward_close(forward *f, uint64_t timeout_ns)
{
    if (!f) return;
    bool ended = true;
    for (int i = 0; i < SIGNALS; i++)
        ended &= exporter_close(f->lanes[i].exporter, timeout_ns, NULL);
    if (!ended) return; /* a thread that is stuck still looks at its lane */
    for (int i = 0; i < SIGNALS; i++) free(f->lanes[i].spool);
    arena_free(&f->arena);
    free(f);
}

void forward_pass(forward *f, otlp_signal s, buf *bytes, size_t items)
{
    if (!exporter_submit(f->lanes[s].exporter, bytes, items, 0)) buf_free(bytes); /* counted */
}

otlp_counts forward_counted(const forward *f, otlp_signal s)
{
    return exporter_counts(f->lanes[s].exporter);
}
