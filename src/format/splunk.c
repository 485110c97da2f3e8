/* Splunk's log records in the table of formats: detection, and conversion from JSON. */
#include "format/splunk_internal.h"

#include "wire/otlp_json.h"
#include "base/ban.h"

enum { DETECT_BYTES = 64 * 1024, PROBED = 16 };

/* Returns whether the fields have the wire types of a LogRecord. A Profile has messages at 1 and
 * 2. */
static bool record_fits(pb_cur c, bool *profiling)
{
    static const uint8_t wires[] = {9, 1, 0, 2, 2, 2, 2, 0, 5, 2, 2, 1, 2};
    bool body = false;
    for (pb_field f; pb_next(&c, &f);) {
        if (f.number >= ARRAY_LEN(wires)) continue;
        if (f.wire != wires[f.number]) return false;
        body |= f.number == 5;
        if (f.number == 6 && memmem(f.data, f.value, SPLUNK_SOURCETYPE, strlen(SPLUNK_SOURCETYPE)))
            *profiling = true;
    }
    return pb_ok(&c) && body;
}

/* Returns 1 if the records of the scope are profiles, 0 if unknown, -1 if they are not log
 * records. */
static int check_scope(pb_cur c)
{
    bool named = false, marked = false;
    unsigned n = 0;
    for (pb_field f; n < PROBED && pb_next(&c, &f);) {
        if (f.wire != 2) return -1;
        if (f.number == 1)
            named = memmem(f.data, f.value, SPLUNK_SCOPE, strlen(SPLUNK_SCOPE)) != NULL;
        if (f.number != 2) continue;
        if (!record_fits(pb_message(&c, &f), &marked)) return -1;
        n++;
    }
    return n && (named || marked);
}

static int check_resource(pb_cur c)
{
    unsigned n = 0;
    for (pb_field f; n < PROBED && pb_next(&c, &f);) {
        if (f.wire != 2) return -1;
        if (f.number != 2 && f.number != 1000) continue;
        int found = check_scope(pb_message(&c, &f));
        if (found) return found;
        n++;
    }
    return 0;
}

static bool contains(str bytes, const char *text)
{
    size_t n = bytes.n < DETECT_BYTES ? bytes.n : DETECT_BYTES;
    return memmem(bytes.p, n, text, strlen(text)) != NULL;
}

static unsigned detect(str bytes)
{
    if (!bytes.n) return 0;
    if (framing_detect(bytes, true) == FRAMING_JSON) {
        bool logs = contains(bytes, "\"resourceLogs\"") || contains(bytes, "\"resource_logs\"");
        return logs && contains(bytes, SPLUNK_SCOPE) ? 95 : 0;
    }
    pb_cur c = pb_open(bytes.p, bytes.n, NULL);
    unsigned n = 0;
    for (pb_field f; n < PROBED && pb_next(&c, &f); n++) {
        if (f.number != 1 || f.wire != 2) return 0;
        int found = check_resource(pb_message(&c, &f));
        if (found) return found > 0 ? 95 : 0;
    }
    return !n && bytes.p[0] == 0x0a && contains(bytes, SPLUNK_SOURCETYPE) ? 50 : 0; /* truncated */
}

/* Accepts JSON lines too, because concatenated messages are one message. */
bool splunk_json_to_pb(str bytes, ledger *l, arena *a, buf *out, err *e)
{
    json j = json_open(bytes.p, bytes.n, a, e);
    do {
        otlp_json_found found = {0};
        if (!otlp_json_read_message(&j, splunk_logs_schema(), out, &found)) return false;
        if (found.n_unknown)
            ledger_add_n(l, STAGE_READ, LOSS_UNKNOWN_FIELD, NULL, found.n_unknown, found.unknown_in,
                         str_of(found.unknown_key));
    } while (json_another(&j));
    return !j.bad;
}

static bool read(const format *f, str bytes, const read_opts *o, arena *a, model *out,
                 layout_verdict *verdict, err *e)
{
    (void)f, (void)verdict;
    if (framing_detect(bytes, true) != FRAMING_JSON)
        return splunk_read_logs(bytes, false, o, a, out, e);
    buf pb = {.limit = a->budget};
    bool transcoded = splunk_json_to_pb(bytes, o->ledger, a, &pb, e);
    bool ok = transcoded && splunk_read_logs(buf_view(&pb), true, o, a, out, e);
    /* The offset refers to the protobuf, not to the JSON. */
    if (transcoded && !ok && e) e->offset = NO_OFFSET;
    buf_free(&pb);
    return ok;
}

static bool write(const format *f, const model *m, const write_opts *o, buf *out, err *e)
{
    (void)f;
    return splunk_write_logs(m, o, out, e);
}

const format format_splunk_logs = {
    .name = "splunk-logs",
    .what = "OTLP log records of Splunk's profilers: call stacks as text, or pprof; reads JSON too",
    .suffixes = ".splunk .logs.pb",
    .carries = CARRIES(TYPES) | CARRIES(UNITS) | CARRIES(TIMESTAMPS) | CARRIES(LINKS) |
               CARRIES(SAMPLE_ATTRIBUTES) | CARRIES(PROFILE_ATTRIBUTES) | CARRIES(RESOURCE) |
               CARRIES(PROFILE_ID) | CARRIES(TIME) | CARRIES(PERIOD) | CARRIES(ADDRESSES) |
               CARRIES(MAPPINGS) | CARRIES(BUILD_IDS) | CARRIES(LINES) | CARRIES(COLUMNS) |
               CARRIES(SYSTEM_NAMES) | CARRIES(INLINES),
    .detect = detect,
    .read = read,
    .write = write,
};
