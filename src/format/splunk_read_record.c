/* Reads the fields of a log record except its body. */
#include "format/splunk_read.h"

#include "wire/base64.h"
#include "base/ban.h"

bool splunk_record_fields(splunk_reader *r, const splunk_record *rec, u32s *to)
{
    keyvalue kv[5];
    uint32_t n = 0;
    if (rec->name.n) kv[n++] = (keyvalue){.key = STR("name"), .value = any_of_str(rec->name)};
    if (rec->severity_number)
        kv[n++] = (keyvalue){.key = STR("severity_number"),
                             .value = any_of_int((int64_t)rec->severity_number)};
    if (rec->severity_text.n)
        kv[n++] = (keyvalue){.key = STR("severity_text"), .value = any_of_str(rec->severity_text)};
    if (rec->flags)
        kv[n++] = (keyvalue){.key = STR("flags"), .value = any_of_int((int64_t)rec->flags)};
    if (rec->event_name.n)
        kv[n++] = (keyvalue){.key = STR("event_name"), .value = any_of_str(rec->event_name)};
    if (!n) return true;
    any v = {.kind = ANY_KVLIST, .n = n, .kvlist = kv};
    splunk_read_lose(r, LOSS_METADATA, KILN_ATTR_SPLUNK_RECORD, 1, kv[0].key);
    return splunk_list_add(r, to,
                           builder_attribute(&r->b, STR(KILN_ATTR_SPLUNK_RECORD), &v, (str){0}));
}

bool splunk_record_is_allocation(const splunk_record *rec)
{
    str type = splunk_attr_text(&rec->attrs, STR(SPLUNK_DATA_TYPE));
    if (type.n) return str_eq(type, STR("allocation"));
    return splunk_attr(&rec->attrs, STR(SPLUNK_ALLOCATED)) ||
           splunk_attr(&rec->attrs, STR("allocationSize")) ||
           splunk_attr(&rec->attrs, STR("tlabSize"));
}

int64_t splunk_record_int(const splunk_record *rec, str key)
{
    const any *v = splunk_attr(&rec->attrs, key);
    return v && v->kind == ANY_INT ? v->i : 0;
}

int64_t splunk_period_ms(int64_t ms) { return ms > 0 && ms <= INT64_MAX / NS_PER_MS ? ms : 0; }

/* Reads an id of the record, raw or (JSON) in hex. Returns false if there is none (C-3). */
static bool take_id(const splunk_reader *r, str text, uint8_t *id, size_t n)
{
    memset(id, 0, n);
    if (r->hex_ids && text.n == 2 * n) {
        if (!hex_decode(text, id)) memset(id, 0, n);
    } else if (!r->hex_ids && text.n == n) {
        memcpy(id, text.p, n);
    }
    return !id_is_zero(id, n);
}

uint32_t splunk_record_link(splunk_reader *r, const splunk_record *rec)
{
    uint8_t trace[16], span_id[8];
    bool has = take_id(r, rec->trace_id, trace, 16);
    has |= take_id(r, rec->span_id, span_id, 8);
    return has ? builder_link(&r->b, trace, span_id) : 0;
}
