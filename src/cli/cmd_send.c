/* `kiln send`: converts files of any format and sends them to an OTLP receiver. The exporter
 * (otlp/exporter.h) delivers in its own thread; the main thread waits for each file. */
#include "cli/cli.h"

#include "cli/input.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/send.h"
#include "cli/supply.h"
#include "otlp/split.h"
#include "base/ban.h"

#define WAIT_NS (10 * NS_PER_S)
#define CLOSE_NS (1 * NS_PER_S)

/* ---- configuration ---- */

static const char *get_variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void warn_variable(void *ctx, const char *sentence) { cli_note(ctx, "%s", sentence); }

static bool take_duration(const char *option, const char *text, uint64_t *ns, err *e)
{
    if (!text || duration_parse(str_of(text), ns)) return true;
    return err_set(e, ERR_USAGE, "--%s must be a time such as 10s or 500ms, not `%s`", option,
                   text);
}

static bool take_address(sending *s, err *e)
{
    const cli_options *o = &s->c->o;
    otlp_config *k = &s->config;
    if (o->protocol && !otlp_protocol_parse(str_of(o->protocol), &k->protocol)) return false;
    bool given = o->protocol || getenv("OTEL_EXPORTER_OTLP_PROTOCOL");
    if (o->address) {
        k->set_endpoint = "--to ";
        return otlp_config_address(k, str_of(o->address), !given, &s->arena, e);
    }
    if (getenv("OTEL_EXPORTER_OTLP_ENDPOINT") || getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT") ||
        getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"))
        return true;
    return err_set(e, ERR_USAGE, "send needs a receiver (--to URL); for example: %s",
                   s->c->command->examples[0].line);
}

static bool configure(sending *s, err *e)
{
    const cli_options *o = &s->c->o;
    otlp_environment env = {get_variable, warn_variable, s->c};
    otlp_config *k = &s->config;
    bool logs = o->signal && !strcmp(o->signal, "logs");
    supply checked;
    if (!supply_parse(o, &checked, e)) return false;
    if (!otlp_config_read(logs ? OTLP_LOGS : OTLP_PROFILES, &env, &s->arena, k, e)) return false;
    k->set_protocol = "--protocol ", k->set_ca = "--ca ";
    if (o->compression && !otlp_codec_parse(str_of(o->compression), &k->codec)) return false;
    if (o->ca) k->tls.ca = o->ca;
    if (o->cert) k->tls.cert = o->cert, k->tls.key = NULL;
    if (o->key) k->tls.key = o->key;
    s->wait = WAIT_NS;
    if (!take_duration("timeout", o->timeout, &k->timeout, e) ||
        !take_duration("wait", o->wait, &s->wait, e))
        return false;
    for (size_t i = 0; i < o->headers.n; i++)
        if (!otlp_config_header(k, o->headers.v[i], &s->arena))
            return err_set(e, ERR_USAGE, "--header must be NAME=VALUE, not `%.*s`",
                           STR_ARG(o->headers.v[i]));
    if (!take_address(s, e)) return false;
    const char *proxy = otlp_ignored_proxy(k);
    if (proxy)
        cli_note(s->c, "%s is ignored: kiln does not support proxies and connects directly", proxy);
    return true;
}

/* ---- callbacks of the exporter, in its thread ---- */

static void on_settled(void *ctx, const settled *t)
{
    sending *s = ctx;
    if (!t->cookie) { /* a spooled batch; all of them are reported in one line */
        bool good = t->outcome == OUTCOME_ACCEPTED || t->outcome == OUTCOME_PARTIAL;
        uint64_t rejected = good ? (uint64_t)t->rejected : t->items;
        s->from_spool.items += t->items - (rejected < t->items ? rejected : t->items);
        s->from_spool.rejected += rejected;
        s->from_spool.attempts++;
        return;
    }
    /* A file that was split is settled several times. Keep the worst outcome and its message. */
    sent *f = &s->v[t->cookie - 1];
    sent one = {.outcome = t->outcome, .rejected = (uint64_t)t->rejected};
    if (!f->settled || send_exit_code(&one) > send_exit_code(f) || (!f->text[0] && t->text[0])) {
        f->outcome = t->outcome;
        snprintf(f->text, sizeof f->text, "%s", t->text);
    }
    bool good = t->outcome == OUTCOME_ACCEPTED || t->outcome == OUTCOME_PARTIAL;
    uint64_t not_new = one.rejected + t->duplicates;
    f->accepted += good ? t->items - (not_new < t->items ? not_new : t->items) : 0;
    f->duplicates += good ? t->duplicates : 0;
    f->rejected += one.rejected;
    f->attempts += t->attempts;
    f->settled = true;
}

static void on_message(void *ctx, const char *sentence)
{
    sending *s = ctx;
    cli_status(s->c, "%s", sentence);
}

/* ---- files ---- */

static bool encode(input *in, const format *to, buf *out, err *e)
{
    if (document_is(&in->doc, to)) { /* send the bytes unchanged */
        buf_str(out, in->doc.bytes);
        return !out->failed || err_memory(e);
    }
    write_opts w = {.ledger = &in->ledger};
    return to->write(to, &in->doc.model, &w, out, e);
}

/* Prints the losses like `kiln convert`, or stores them for --json. */
static void report_losses(sending *s, sent *t, const format *to, const ledger *l)
{
    ledger *copy = l->n && s->c->o.json ? arena_new(&s->arena, ledger, 1) : NULL;
    if (copy) *copy = *l;
    t->losses = copy;
    if (!s->c->o.json) output_losses(s->c, &(output){.path = t->path, .to = to}, l);
}

static void send_file(sending *s, size_t i)
{
    cli *c = s->c;
    sent *t = &s->v[i];
    input in;
    buf bytes = {0};
    err e = {0};
    if (!input_open(c, t->path, &in)) return;
    const format *to = s->config.signal == OTLP_LOGS ? &format_splunk_logs : &format_otlp;
    bool ok = encode(&in, to, &bytes, &e);
    if (ok) report_losses(s, t, to, &in.ledger);
    input_close(&in);
    if (!ok) cli_fail_err(c, t->path, &e);
    if (!ok) return buf_free(&bytes);
    t->bytes = bytes.n;
    t->items = otlp_count_items(buf_view(&bytes));
    cli_status(c, "sending %s ...", input_name(t->path));
    bool taken = exporter_submit(s->exporter, &bytes, t->items, i + 1);
    if (!taken)
        cli_fail(c, EXIT_BAD_INPUT, "%s: %zu bytes exceed the size of the queue", t->path,
                 t->bytes);
    buf_free(&bytes);
    /* max_age limits the attempts. The additional time is for a request that is still in flight
     * then. */
    if (taken) (void)exporter_flush(s->exporter, s->wait + s->config.timeout + 5 * NS_PER_S);
    cli_status(c, "%s", "");
}

static void send_all(sending *s)
{
    cli *c = s->c;
    for (size_t i = 0; i < s->n; i++) send_file(s, i);
    exporter_close(s->exporter, CLOSE_NS, &s->counts);
    for (size_t i = 0; i < s->n; i++) {
        const sent *t = &s->v[i];
        exit_code code =
            t->settled ? send_exit_code(t) : EXIT_FINE; /* unsettled files were reported already */
        if (c->o.json && code > c->worst) c->worst = code;
        if (!c->o.json && t->settled) send_print_text(s, t);
    }
    if (c->o.json)
        send_print_json(s);
    else
        send_print_spool(s);
}

static bool open_exporter(sending *s, err *e)
{
    const cli_options *o = &s->c->o;
    exporter_opts x = {
        .sender = {.config = &s->config,
                   .max_age = s->wait ? s->wait : 1, /* 0s: one attempt */
                   .agent = "kiln/" KILN_VERSION,
                   .settled = on_settled,
                   .say = on_message,
                   .ctx = s},
        .spool_dir = o->spool,
        .spool_max = o->spool_size,
        .max_queue = SIZE_MAX / 2, /* one file at a time, limited by --max-bytes */
    };
    s->exporter = exporter_open(&x, e);
    return s->exporter != NULL;
}

exit_code cmd_send(cli *c)
{
    sending s = {.c = c, .n = c->n_args};
    err e = {0};
    s.v = arena_new(&s.arena, sent, s.n);
    for (size_t i = 0; s.v && i < s.n; i++) s.v[i].path = c->args[i];
    if (!s.v)
        cli_fail(c, EXIT_ENVIRONMENT, "out of memory");
    else if (!configure(&s, &e) || !open_exporter(&s, &e))
        cli_fail_err(c, NULL, &e);
    else
        send_all(&s);
    arena_free(&s.arena);
    return c->worst;
}
