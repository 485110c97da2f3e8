/* One payload of an input: in which layout it is judged, and by which judge. */
#include "check/check.h"

#include "wire/otlp.h"
#include "wire/otlp_json.h"
#include "base/ban.h"

static layout layout_of(const payload *p, layout l)
{
    if (l != LAYOUT_UNKNOWN || p->kind == PAYLOAD_JSON) return l; /* JSON says it by its keys */
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

bool check_payload(const payload *p, layout l, const check_opts *o, ledger *losses, arena *a,
                   check_report *out, err *e)
{
    l = layout_of(p, l);
    if (p->kind == PAYLOAD_PROTOBUF && l == LAYOUT_CURRENT)
        return check_bytes(p->bytes.p, p->bytes.n, o, a, out, e);
    model m;
    return check_payload_read(p, l, losses, a, &m, e) && check_model(&m, o, a, out, e);
}
