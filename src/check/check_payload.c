/* Chooses the layout and the check for one payload of an input. */
#include "check/check.h"

#include "wire/otlp.h"
#include "wire/otlp_json.h"
#include "base/ban.h"

static layout layout_of(const payload *p, layout l)
{
    if (l != LAYOUT_UNKNOWN || p->kind == PAYLOAD_JSON) return l; /* for JSON the keys decide */
    layout_verdict v;
    layout_detect(p->bytes.p, p->bytes.n, &v);
    return v.confidence == LAYOUT_NONE ? LAYOUT_CURRENT : v.layout;
}

bool check_payload_read(const payload *p, layout l, ledger *losses, arena *a, model *out, err *e)
{
    otlp_decode_opts o = {.layout = layout_of(p, l), .lenient = true, .ledger = losses};
    return p->kind == PAYLOAD_JSON ? otlp_json_decode(p->bytes.p, p->bytes.n, &o, a, out, e)
                                   : otlp_decode(p->bytes.p, p->bytes.n, &o, a, out, e);
}

/* Checks JSON as protobuf, by the rules of the layout that its keys belong to. */
static bool check_old_json(const payload *p, layout l, const check_opts *o, arena *a,
                           check_report *out, err *e)
{
    buf pb = {.limit = a->budget};
    otlp_json_found found = {0};
    bool ok = otlp_json_to_pb(p->bytes.p, p->bytes.n, l, &pb, &found, e) &&
              check_message(l, schema_profiles_data(l), buf_view(&pb), true, o, a, out, e);
    buf_free(&pb);
    return ok;
}

bool check_payload(const payload *p, layout l, const check_opts *o, ledger *losses, arena *a,
                   check_report *out, err *e)
{
    l = layout_of(p, l);
    if (p->kind == PAYLOAD_PROTOBUF) return check_bytes_of(l, p->bytes.p, p->bytes.n, o, a, out, e);
    if (l == LAYOUT_UNKNOWN) l = otlp_json_layout(p->bytes.p, p->bytes.n);
    if (l < LAYOUT_1_8) return check_old_json(p, l, o, a, out, e);
    model m;
    return check_payload_read(p, l, losses, a, &m, e) && check_model(&m, o, a, out, e);
}
