/* Detects the layout of JSON by the names of its keys, in any order.  The walk records the significant
 * keys and stops as soon as later keys cannot change the result, which in real files is early. */
#include "wire/otlp_json.h"

#include "base/ban.h"

enum {
    SAW_CONTAINER = 1,   /* profiles[].profile: v1.3 */
    SAW_OWN_TABLES = 2,  /* profiles[].stringTable and other tables: v1.4, v1.5 */
    SAW_ATTRIBUTES = 4,  /* profiles[].attributes: v1.4 (and v1.3) */
    SAW_INDICES = 8,     /* profiles[].attributeIndices: v1.5 and later */
    SAW_TOP_TABLES = 16, /* stringTable and other tables at the top: v1.6 */
    SAW_DICTIONARY = 32, /* v1.7 and later */
    SAW_STACKS = 64,     /* dictionary.stackTable and other keys of v1.8 */
    SAW_SINGULAR = 128,  /* profiles[].sample, locations with `line`: up to v1.8 */
    SAW_PLURAL = 256,    /* samples, lines: v1.9 and later */
    SAW_SLICES = 512,    /* sample[].locationsStartIndex, timeNanos: up to v1.7 */
};

typedef enum level { TOP, RESOURCE, SCOPE, PROFILE, SAMPLE, DICTIONARY, LOCATION, NOWHERE } level;

#define K(text)                                                                                    \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

/* A key in a message is evidence, leads to another message, or both.  Keys are in lowerCamelCase
 * here. */
static const struct {
    level at;
    str key;
    unsigned evidence;
    level leads;
} keys[] = {
    {TOP, K("resourceProfiles"), 0, RESOURCE},
    {TOP, K("dictionary"), SAW_DICTIONARY, DICTIONARY},
    {TOP, K("stringTable"), SAW_TOP_TABLES, NOWHERE},
    {TOP, K("mappingTable"), SAW_TOP_TABLES, NOWHERE},
    {TOP, K("locationTable"), SAW_TOP_TABLES, NOWHERE},
    {TOP, K("functionTable"), SAW_TOP_TABLES, NOWHERE},
    {TOP, K("attributeTable"), SAW_TOP_TABLES, NOWHERE},
    {TOP, K("linkTable"), SAW_TOP_TABLES, NOWHERE},
    {RESOURCE, K("scopeProfiles"), 0, SCOPE},
    {SCOPE, K("profiles"), 0, PROFILE},
    {PROFILE, K("profile"), SAW_CONTAINER, NOWHERE},
    {PROFILE, K("startTimeUnixNano"), SAW_CONTAINER, NOWHERE},
    {PROFILE, K("endTimeUnixNano"), SAW_CONTAINER, NOWHERE},
    {PROFILE, K("samples"), SAW_PLURAL, NOWHERE},
    {PROFILE, K("sample"), SAW_SINGULAR, SAMPLE},
    {PROFILE, K("stringTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("mappingTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("locationTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("functionTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("attributeTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("linkTable"), SAW_OWN_TABLES, NOWHERE},
    {PROFILE, K("attributes"), SAW_ATTRIBUTES, NOWHERE},
    {PROFILE, K("attributeIndices"), SAW_INDICES, NOWHERE},
    {PROFILE, K("timeNanos"), SAW_SLICES, NOWHERE},
    {PROFILE, K("timeUnixNano"), SAW_STACKS, NOWHERE},
    {PROFILE, K("durationNano"), SAW_STACKS, NOWHERE},
    {SAMPLE, K("locationsStartIndex"), SAW_SLICES, NOWHERE},
    {SAMPLE, K("locationsLength"), SAW_SLICES, NOWHERE},
    {SAMPLE, K("stackIndex"), SAW_STACKS, NOWHERE},
    {DICTIONARY, K("stackTable"), SAW_STACKS, NOWHERE},
    {DICTIONARY, K("attributeUnits"), SAW_SLICES, NOWHERE},
    {DICTIONARY, K("locationTable"), 0, LOCATION},
    {LOCATION, K("line"), SAW_SINGULAR, NOWHERE},
    {LOCATION, K("lines"), SAW_PLURAL, NOWHERE},
};

/* Returns the layout according to the keys so far. */
static layout judge(unsigned saw)
{
    if (saw & SAW_CONTAINER) return LAYOUT_1_3;
    if (saw & SAW_PLURAL) return LAYOUT_1_10;
    if (saw & SAW_TOP_TABLES) return LAYOUT_1_6;
    if (saw & SAW_OWN_TABLES) return saw & SAW_ATTRIBUTES ? LAYOUT_1_4 : LAYOUT_1_5;
    if (saw & SAW_STACKS) return saw & SAW_SINGULAR ? LAYOUT_1_8 : LAYOUT_1_10;
    if (saw & (SAW_SINGULAR | SAW_SLICES)) return saw & SAW_DICTIONARY ? LAYOUT_1_7 : LAYOUT_1_6;
    return LAYOUT_CURRENT;
}

/* Returns whether later keys cannot change the result. */
static bool settled(unsigned saw)
{
    return (saw & (SAW_CONTAINER | SAW_PLURAL | SAW_TOP_TABLES)) ||
           ((saw & SAW_OWN_TABLES) && (saw & (SAW_ATTRIBUTES | SAW_INDICES))) ||
           ((saw & SAW_SINGULAR) && (saw & SAW_STACKS)) ||
           ((saw & SAW_SLICES) && (saw & SAW_DICTIONARY));
}

/* Writes a snake_case key as lowerCamelCase to out; a key longer than any known one becomes "". */
static str folded(str key, char *out, size_t n)
{
    size_t k = 0;
    if (key.n >= n) return (str){out, 0};
    for (size_t i = 0; i < key.n; i++) {
        bool up = key.p[i] == '_' && i + 1 < key.n && key.p[i + 1] >= 'a' && key.p[i + 1] <= 'z';
        out[k++] = up ? (char)(key.p[++i] - 'a' + 'A') : key.p[i];
    }
    return (str){out, k};
}

typedef struct key_walk {
    json j;
    unsigned saw;
} key_walk;

static bool walk_json(key_walk *l, level at);

static bool walk_key(key_walk *l, level at)
{
    char text[32];
    str key = folded(l->j.text, text, sizeof text);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].at != at || !str_eq(keys[i].key, key)) continue;
        if (json_next(&l->j) == JSON_NULL) return true; /* absent */
        l->saw |= keys[i].evidence;
        if (settled(l->saw)) return false;
        return keys[i].leads == NOWHERE ? json_skip_open(&l->j) : walk_json(l, keys[i].leads);
    }
    return json_skip_value(&l->j);
}

/* Walks the value whose first token was read: a message of this kind, or an array of them.  Returns
 * false when the result is final or the text is malformed. */
static bool walk_json(key_walk *l, level at)
{
    if (l->j.tok == JSON_ARRAY) {
        while (json_next(&l->j) == JSON_OBJECT)
            if (!walk_json(l, at)) return false;
        return l->j.tok == JSON_ARRAY_END;
    }
    if (l->j.tok != JSON_OBJECT) return false;
    while (json_next(&l->j) == JSON_KEY)
        if (!walk_key(l, at)) return false;
    return l->j.tok == JSON_OBJECT_END;
}

layout otlp_json_layout(const void *p, size_t n)
{
    /* Strings with escapes are not stored; a small budget limits the cost of broken text. */
    arena scratch = {.budget = 1 << 20};
    key_walk l = {.j = json_open(p, n, &scratch, NULL)};
    l.j.max_depth = JSON_DEPTH_CAP;
    json_next(&l.j);
    (void)walk_json(&l, TOP);
    arena_free(&scratch);
    return judge(l.saw);
}
