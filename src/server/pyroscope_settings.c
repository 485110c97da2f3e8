/* SettingsService: opaque texts that Grafana's apps keep, in the store's file `settings`. */
#include "server/pyroscope.h"

#include "server/pyroscope_methods.h"
#include "store/saved.h"
#include "wire/base64.h"
#include "wire/pb.h"
#include "base/ban.h"

enum { VALUE_MAX = (SAVED_LINK - 1) / 4 * 3 };

static bool has_list(const query *k, err *e)
{
    return k->settings || err_set(e, ERR_BUSY, "this server keeps no settings");
}

/* The list has visible ASCII only, so that values are in base64. */
static str value_of(query *k, const saved_entry *x)
{
    str text = {x->link.p + 1, x->link.n - 1};
    uint8_t *p = arena_array(k->a, base64_max(text.n), 1);
    size_t n = 0;
    if (!p || !base64_decode(text, p, &n)) return (str){0};
    return (str){(const char *)p, n};
}

static void put_setting(buf *b, uint32_t number, str name, str value, uint64_t changed)
{
    buf x = {0};
    pb_put_bytes(&x, 1, name);
    if (value.n) pb_put_bytes(&x, 2, value);
    pb_put_uint(&x, 3, changed / NS_PER_MS);
    pb_put_bytes(b, number, buf_view(&x));
    b->failed |= x.failed;
    buf_free(&x);
}

bool pyro_get_settings(query *k, err *e)
{
    saved_entries v;
    if (!has_list(k, e) || !saved_list(k->settings, k->a, &v, e)) return false;
    for (size_t i = 0; i < v.n; i++)
        put_setting(&k->body, 1, v.v[i].name, value_of(k, &v.v[i]), v.v[i].changed);
    return true;
}

/* The list speaks of saved selections. */
static bool over_limit(err *e)
{
    *e = (err){.offset = NO_OFFSET};
    return err_set(e, ERR_LIMIT, "the server keeps %d settings, which is the limit: delete one",
                   SAVED_MAX);
}

bool pyro_put_setting(query *k, err *e)
{
    const pyro_request *r = &k->call->r;
    buf link = {0};
    if (!has_list(k, e)) return false;
    if (r->value.n > VALUE_MAX)
        return err_set(e, ERR_USAGE, "a setting has at most %d bytes", VALUE_MAX);
    buf_putc(&link, '#');
    base64_encode(&link, r->value);
    bool ok = (!link.failed || err_memory(e)) &&
              saved_put(k->settings, r->name, buf_view(&link), true, k->now, e);
    buf_free(&link);
    if (e->code == ERR_MISMATCH) return over_limit(e);
    if (ok) put_setting(&k->body, 1, r->name, r->value, k->now);
    return ok;
}

bool pyro_remove_setting(query *k, err *e)
{
    if (!has_list(k, e)) return false;
    if (saved_remove(k->settings, k->call->r.name, e)) return true;
    if (e->code != ERR_UNSUPPORTED) return false;
    *e = (err){.offset = NO_OFFSET};
    return err_set(e, ERR_UNSUPPORTED, "no setting has this name");
}
