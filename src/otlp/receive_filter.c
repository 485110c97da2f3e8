/* Partial success: filters a message with wire/otlp_filter, reads it again and describes the
 * rejections. */
#include "otlp/receive_filter.h"

#include "wire/otlp_json.h"
#include "base/ban.h"
#include <inttypes.h>
#include <stdarg.h>

const char *receive_reason_name(size_t reason)
{
    static const char *const of_logs[] = {"not_a_call_stack", "unreadable_record"};
    return reason < OTLP_FAULT_COUNT ? otlp_fault_name((otlp_fault)reason)
                                     : of_logs[reason - OTLP_FAULT_COUNT];
}

/* Appends to out->why as much as fits. */
static void add_text(received *out, const char *fmt, ...) PRINTF(2, 3);
static void add_text(received *out, const char *fmt, ...)
{
    size_t n = strlen(out->why);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out->why + n, sizeof out->why - n, fmt, ap);
    va_end(ap);
}

static void describe(received *out, const otlp_filtered *s, bool bytes)
{
    if (s->n_rejected)
        add_text(out, "%zu of %zu profiles rejected: ", s->n_rejected, s->n_profiles);
    else
        add_text(out, "no profile rejected, but the dictionary has invalid entries: ");
    for (size_t i = 0; i < s->n_reasons && i < OTLP_FILTER_REASONS; i++) {
        err why = s->reason[i];
        char text[sizeof why.msg + sizeof why.path + 64];
        if (!bytes)
            why.offset = NO_OFFSET; /* an offset in transcoded bytes would mislead the sender */
        add_text(out, "%s%s", i ? "; " : "", err_text(&why, text, sizeof text));
    }
    if (s->n_reasons > OTLP_FILTER_REASONS)
        add_text(out, "; and %zu more", s->n_reasons - OTLP_FILTER_REASONS);
}

/* Sets *pb to the message as protobuf: as received, or transcoded from JSON. */
static bool message_of(const document *d, size_t max, arena *a, str *pb, layout *l)
{
    const part *p = &d->parts.v[0];
    *l = p->verdict.layout ? p->verdict.layout : LAYOUT_CURRENT;
    *pb = p->payload.bytes;
    if (p->format == &format_otlp) return pb->p == d->bytes.p && pb->n == d->bytes.n;
    buf out = {.limit = max};
    otlp_json_found found = {0};
    bool ok = otlp_json_to_pb(d->bytes.p, d->bytes.n, LAYOUT_UNKNOWN, &out, &found, NULL);
    char *valid = ok ? arena_alloc(a, out.n) : NULL;
    if (valid && out.n) memcpy(valid, out.p, out.n);
    *pb = (str){valid, valid ? out.n : 0};
    *l = found.layout;
    buf_free(&out);
    return valid;
}

/* Returns whether the message is invalid. An exhausted memory budget may have the same code, but no
 * path. */
static bool is_fault(const err *e)
{
    return e->code == ERR_MALFORMED || (err_exhausted(e) && e->path[0]);
}

bool receive_filter(const document *failed, const read_opts *o, arena *a, received *out, err *e)
{
    const format *f = failed->parts.n == 1 ? failed->parts.v[0].format : NULL;
    layout l;
    str message, valid;
    otlp_filtered s;
    err why = {0};
    if ((f != &format_otlp && f != &format_otlp_json) || !is_fault(e)) return false;
    if (!message_of(failed, o->max_bytes, a, &message, &l)) return false;
    bool ok =
        otlp_filter(message.p, message.n, l, a, &valid, &s, &why) && s.n_rejected < s.n_profiles;
    read_opts again = *o;
    again.from = &format_otlp;
    again.layout = l;
    o->ledger->n = 0; /* removes the losses of the failed read */
    document d;
    if (!ok || !format_read(valid, &again, a, &d, &why)) {
        if (err_exhausted(&why) && !why.path[0]) *e = why;
        return false;
    }
    *e = (err){0};
    out->doc = d;
    if (f == &format_otlp) out->payload = valid;
    out->doc.format = f;
    out->n_rejected = s.n_rejected;
    for (size_t i = 0; i < OTLP_FAULT_COUNT; i++) out->rejected_by[i] = s.rejected_by[i];
    describe(out, &s, f == &format_otlp && !failed->n_layers);
    return true;
}

void receive_reject_records(received *out, uint64_t foreign, const loss *broken)
{
    out->n_rejected = (size_t)(foreign + broken->count);
    out->rejected_by[RECEIVE_NOT_A_CALL_STACK] = (size_t)foreign;
    out->rejected_by[RECEIVE_UNREADABLE_RECORD] = (size_t)broken->count;
    if (foreign)
        add_text(
            out,
            "%" PRIu64
            " log records are not call stacks (scope otel.profiling): kiln stores profiles only",
            foreign);
    if (broken->count)
        add_text(out, "%s%" PRIu64 " call stacks could not be read, the first (%s): %s",
                 foreign ? "; " : "", broken->count, broken->path, broken->value);
}
