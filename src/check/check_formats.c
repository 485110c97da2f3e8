/* Formats other than OTLP that have rules, and the schemas by which their bytes are checked. */
#include "check/internal.h"

#include "format/dialects.h"
#include "format/splunk.h"

#include "base/ban.h"

typedef struct judged {
    unsigned kind;
    const message_desc *root;
} judged;

/* Returns the schema of the dialect that fits, otherwise of the nearest, whose rules report
 * faults. */
static const message_desc *schema_among(str bytes, unsigned among)
{
    dialect d = dialect_detect_among(bytes, among);
    return dialect_schema(d ? d : dialect_nearest(bytes, among));
}

static judged judge_as(const format *f, str bytes)
{
    if (f == &format_arrays || f == &format_normalized || f == &format_denormalized)
        return (judged){CHECK_ARRAYS, schema_among(bytes, DIALECTS_A)};
    if (f == &format_events) return (judged){CHECK_EVENTS, schema_among(bytes, DIALECTS_C)};
    if (f == &format_splunk_logs) return (judged){CHECK_SPLUNK, splunk_logs_schema()};
    if (f == &format_otep239 && dialect_detect_among(bytes, 1u << DIALECT_B_BARE))
        return (judged){LAYOUT_1_3, dialect_schema(DIALECT_B_BARE)};
    return (judged){0};
}

bool check_has_rules(const format *f, str bytes) { return judge_as(f, bytes).root != NULL; }

bool check_format(const format *f, str bytes, const check_opts *o, arena *a, check_report *out,
                  err *e)
{
    judged j = judge_as(f, bytes);
    if (!j.root) return err_set(e, ERR_UNSUPPORTED, "there are no rules for %s", f->name);
    if (f != &format_splunk_logs || framing_detect(bytes, true) != FRAMING_JSON)
        return check_message(j.kind, j.root, bytes, false, o, a, out, e);
    buf pb = {.limit = a->budget};
    bool ok = splunk_json_to_pb(bytes, NULL, a, &pb, e) &&
              check_message(j.kind, j.root, buf_view(&pb), true, o, a, out, e);
    buf_free(&pb);
    return ok;
}
