/* Prints results of `kiln send` as text and JSON (docs/send.md), and chooses the exit code of each
 * outcome. */
#include "cli/send.h"

#include "cli/input.h"
#include "draw/human.h"
#include "wire/json.h"
#include "base/ban.h"

static const char *items_word(const sending *s, uint64_t n)
{
    bool logs = s->config.signal == OTLP_LOGS;
    return n == 1 ? (logs ? "log record" : "profile") : (logs ? "log records" : "profiles");
}

exit_code send_exit_code(const sent *t)
{
    switch (t->outcome) {
    case OUTCOME_ACCEPTED: return EXIT_FINE;
    case OUTCOME_PARTIAL: return t->rejected ? EXIT_BAD_INPUT : EXIT_FINE;
    case OUTCOME_REFUSED:
    case OUTCOME_TOO_LARGE: return EXIT_BAD_INPUT;
    case OUTCOME_MISFIT:
    case OUTCOME_EXPIRED:
    case OUTCOME_SPOOLED: /* stored, but not delivered */
    case OUTCOME_UNSENT:
    case OUTCOME_LOST: break;
    }
    return EXIT_ENVIRONMENT;
}

/* Returns whether the receiver had all items already. */
static bool is_duplicate(const sent *t) { return t->items && t->duplicates >= t->items; }

void send_print_text(const sending *s, const sent *t)
{
    cli *c = s->c;
    char n[HUMAN_MAX], all[HUMAN_MAX];
    exit_code code = send_exit_code(t);
    const char *name = input_name(t->path);
    if (t->outcome == OUTCOME_SPOOLED) {
        cli_fail(c, code, "%s: not delivered, stored in %s: %s", name, c->o.spool, t->text);
    } else if (t->outcome == OUTCOME_PARTIAL && t->rejected) {
        cli_fail(c, code, "%s: %s of %s %s were rejected: %s", name, human_count(t->rejected, n),
                 human_count(t->items, all), items_word(s, t->items), t->text);
    } else if (code != EXIT_FINE) {
        const char *what = code == EXIT_BAD_INPUT ? "rejected" : "not delivered";
        if (t->accepted) /* parts of a file that was split */
            cli_note(c, "%s: %s of %s %s accepted", name, human_count(t->accepted, n),
                     human_count(t->items, all), items_word(s, t->items));
        cli_fail(c, code, "%s: %s: %s", name, what, t->text);
    } else if (!c->o.quiet && is_duplicate(t)) {
        buf_printf(&c->out, "%s: %s %s: %s that the receiver already has\n", name,
                   human_count(t->items, n), items_word(s, t->items),
                   t->items == 1 ? "a duplicate" : "duplicates");
    } else if (!c->o.quiet) {
        buf_printf(&c->out, "%s: %s %s accepted", name, human_count(t->items - t->duplicates, n),
                   items_word(s, t->items - t->duplicates));
        if (t->duplicates)
            buf_printf(&c->out, ", %s already stored",
                       human_things(t->duplicates, "duplicate", all));
        buf_printf(&c->out, "%s%s\n", t->text[0] ? "; " : "", t->text);
    }
}

void send_print_spool(const sending *s)
{
    const sent *t = &s->from_spool;
    char n[HUMAN_MAX], r[HUMAN_MAX];
    if (!t->attempts || s->c->o.quiet) return;
    buf_printf(&s->c->out, "%s: %s earlier %s accepted", s->c->o.spool, human_count(t->items, n),
               items_word(s, t->items));
    if (t->rejected) buf_printf(&s->c->out, ", %s rejected", human_count(t->rejected, r));
    buf_putc(&s->c->out, '\n');
}

static void put_number(json_out *o, const char *key, uint64_t v)
{
    json_put_key(o, str_of(key));
    json_put_u64(o, v);
}

static void put_text(json_out *o, const char *key, const char *v)
{
    json_put_key(o, str_of(key));
    if (v && *v)
        json_put_str(o, str_of(v));
    else
        json_put_null(o);
}

static void put_file(json_out *o, const sent *t)
{
    json_put_object(o);
    json_put_key(o, STR("path"));
    input_path_json(o, t->path);
    put_text(o, "outcome",
             !t->settled       ? "unreadable"
             : is_duplicate(t) ? "duplicate"
                               : outcome_name(t->outcome));
    put_number(o, "items", t->items);
    put_number(o, "accepted", t->accepted);
    put_number(o, "rejected", t->rejected);
    put_number(o, "duplicates", t->duplicates);
    put_number(o, "bytes", t->bytes);
    put_number(o, "attempts", t->attempts);
    json_put_key(o, STR("message"));
    if (t->text[0])
        input_path_json(o, t->text); /* text of the receiver: may not be UTF-8 */
    else
        json_put_null(o);
    static const ledger none;
    json_put_key(o, STR("losses"));
    ledger_json(o, t->losses ? t->losses : &none);
    json_put_object_end(o);
}

void send_print_json(const sending *s)
{
    json_out o = {.b = &s->c->out, .pretty = true};
    char to[320];
    const url *u = &s->config.to;
    snprintf(to, sizeof to, u->bracketed ? "%s://[%.*s]:%u" : "%s://%.*s:%u",
             u->tls ? "https" : "http", STR_ARG(u->host), u->port);
    json_put_object(&o);
    put_number(&o, "schema", 1);
    put_text(&o, "to", to);
    put_text(&o, "signal", otlp_signal_name(s->config.signal));
    put_text(&o, "protocol", otlp_protocol_name(s->config.protocol));
    json_put_key(&o, STR("files"));
    json_put_array(&o);
    for (size_t i = 0; i < s->n; i++) put_file(&o, &s->v[i]);
    json_put_array_end(&o);
    json_put_key(&o, STR("counters"));
    json_put_object(&o);
#define X(name, what) put_number(&o, #name, s->counts.name);
    OTLP_COUNTERS(X)
#undef X
    json_put_object_end(&o);
    json_put_object_end(&o);
    buf_putc(&s->c->out, '\n');
}
