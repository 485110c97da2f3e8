/* Stores and servers as arguments: splits ADDRESS?parameters, adds parameters from the options, and
 * decides how much detail a command needs. stored_store.c and stored_server.c read the profiles. */
#include "cli/stored.h"

#include "store/selection.h"
#include "base/ban.h"
#include <strings.h>
#include <sys/stat.h>

static bool is_address(const char *arg)
{
    return !strncasecmp(arg, "http://", 7) || !strncasecmp(arg, "https://", 8);
}

/* Returns the length of the address or directory, up to the question mark. */
static size_t where_ends(const char *arg)
{
    struct stat st;
    if (is_address(arg)) return strcspn(arg, "?#");
    return stat(arg, &st) == 0 ? strlen(arg) : strcspn(arg, "?");
}

bool stored_is(const char *arg)
{
    struct stat st;
    char dir[4096];
    if (is_address(arg)) return true;
    size_t n = where_ends(arg);
    if (n >= sizeof dir) return false;
    memcpy(dir, arg, n);
    dir[n] = '\0';
    return stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- parameters ---- */

/* Returns whether a parameter only concerns the web page (ui/src/live/selection.ts), whose address
 * may be copied. Renames two parameters that have other names there. */
static bool is_of_page(param *p)
{
    static const char *const rest[] = {"page", "range",     "refresh", "against",
                                       "base", "base_from", "base_to"};
    if (str_eq(p->key, STR("from"))) p->key = STR("start");
    if (str_eq(p->key, STR("to"))) p->key = STR("end");
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        if (str_eq(p->key, str_of(rest[i]))) return true;
    return false;
}

static bool take_words(const char *text, arena *a, stored_source *k, err *e)
{
    size_t n = strcspn(text, "#");
    char *target = arena_alloc(a, n + 1);
    if (!target) return err_memory(e);
    target[0] = '/';
    memcpy(target + 1, text, n);
    if (!params_parse((str){target, n + 1}, a, &k->words, e)) {
        if (e->code == ERR_MALFORMED) e->code = ERR_USAGE;
        return false;
    }
    size_t n_words = k->words.v.n;
    k->words.v.n = 0;
    for (size_t i = 0; i < n_words; i++) {
        param *p = &k->words.v.v[i];
        if (is_of_page(p)) continue;
        str key = p->key;
        k->words.v.v[k->words.v.n++] = *p;
        if (!selection_has(key))
            return err_set(e, ERR_USAGE,
                           "unknown parameter `%.*s`; use query, start, end, trace_id, span_id or "
                           "profile_id",
                           (int)(key.n < 40 ? key.n : 40), key.p);
    }
    return true;
}

/* Returns whether a time is relative to the start of the profile, which a store cannot evaluate. */
static bool is_distance(const char *time) { return time && time[0] == '+'; }
static bool is_whole_id(const char *hex) { return hex && strlen(hex) == 32; }

/* Adds parameters from the options, unless the argument has them. */
static bool add_options(const cli_options *o, arena *a, stored_source *k, err *e)
{
    const struct {
        const char *key, *value;
    } words[] = {
        {"query", o->select},
        {"start", is_distance(o->since) ? NULL : o->since},
        {"end", is_distance(o->until) ? NULL : o->until},
        {"trace_id", o->trace_id},
        {"span_id", o->span_id},
        {"profile_id", is_whole_id(o->wanted_id) ? o->wanted_id : NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].value && !params_get(&k->words, words[i].key).p &&
            !params_set(&k->words, words[i].key, str_of(words[i].value), a))
            return err_memory(e);
    return true;
}

bool stored_parse(const cli_options *o, const char *arg, arena *a, stored_source *out, err *e)
{
    size_t n = where_ends(arg);
    *out = (stored_source){.arg = arg, .server = is_address(arg)};
    char *where = arena_alloc(a, n + 1);
    if (!where) return err_memory(e);
    memcpy(where, arg, n);
    where[n] = '\0';
    out->where = where;
    return take_words(arg + n, a, out, e) && add_options(o, a, out, e);
}

/* ---- needs ---- */

/* Returns whether --tagroot or --tagleaf names trace or span, which sums do not contain. */
static bool asks_for_links(const char *keys)
{
    return keys && (strstr(keys, "trace_id") || strstr(keys, "span_id"));
}

stored_need stored_need_of(const cli_options *o, stored_need least)
{
    bool id = o->wanted_id && !is_whole_id(o->wanted_id);
    if (is_distance(o->since) || is_distance(o->until) || id || o->tagfocus || o->tagignore ||
        asks_for_links(o->tagroot) || asks_for_links(o->tagleaf))
        return STORED_ALL;
    if ((o->thread || o->tagroot || o->tagleaf) && least > STORED_ATTRIBUTES)
        return STORED_ATTRIBUTES;
    return least;
}

void stored_select(const cli_options *o, select_opts *s)
{
    s->all = true;
    s->trace_id = s->span_id = (str){0};
    if (!is_distance(o->since)) s->start = 0;
    if (!is_distance(o->until)) s->end = 0;
    if (is_whole_id(o->wanted_id)) s->profile_id = (str){0};
}

bool stored_check_select(cli *c)
{
    bool found = stored_is(c->o.diff ? c->o.diff : "");
    for (size_t i = 0; i < c->n_args && !found; i++) found = stored_is(c->args[i]);
    if (found || !c->o.select || command_index(c->command) == COMMAND_STORE) return true;
    cli_fail(c, EXIT_USAGE, "--select requires a server or a store as an argument");
    return false;
}

void stored_report_nothing(cli *c, const char *arg)
{
    cli_fail(c, EXIT_BAD_INPUT, "%s: no stored profile matches", arg);
    cli_note(c, "  `kiln info %.*s` lists what is stored", (int)where_ends(arg), arg);
}

bool stored_read(cli *c, const stored_source *k, arena *a, size_t max_bytes, buf *out,
                 char type[STORED_TYPE])
{
    type[0] = '\0';
    return (k->server ? stored_read_server : stored_read_store)(c, k, a, max_bytes, out, type);
}
