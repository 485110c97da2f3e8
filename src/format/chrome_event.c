/* Parses one event of a trace from text into fields. The fast path (chrome_scan.h) handles the
 * usual spelling; everything else, and every error, goes through the tokenizer. */
#include "format/chrome.h"

#include "format/chrome_scan.h"
#include "base/ban.h"

/* ---- the tokenizer path ---- */

/* Copies a text with escapes, because it is in the tokenizer's buffer, where the next such text
 * overwrites it. */
static bool copy_escaped(chrome *c, json *j, chrome_copy *k, str *out)
{
    *out = (str){0};
    json_next(j);
    if (j->tok != JSON_STRING && j->tok != JSON_NUMBER) return json_skip_open(j);
    *out = j->text;
    if (j->text.p != j->scratch || !j->text.n) return true;
    k->n = 0;
    if (!vec_reserve(c->work, k, j->text.n)) return err_memory(c->e);
    out->p = memcpy(k->v, j->text.p, j->text.n);
    return true;
}

/* Parses a small decimal integer without going through a double. */
static bool quick_integer(str s, int64_t *v)
{
    size_t i = s.n && s.p[0] == '-';
    if (s.n == i || s.n - i > 18 || (s.p[i] == '0' && s.n - i > 1)) return false;
    int64_t r = 0;
    for (size_t k = i; k < s.n; k++) {
        unsigned d = (unsigned)(s.p[k] - '0');
        if (d > 9) return false;
        r = r * 10 + d;
    }
    *v = i ? -r : r;
    return true;
}

bool chrome_id_of(chrome *c, json *j, chrome_id *id)
{
    *id = (chrome_id){0};
    if (j->tok == JSON_NULL) return true;
    if (j->tok != JSON_NUMBER && j->tok != JSON_STRING) return json_expected(j, "a number or text");
    if (quick_integer(j->text, &id->number)) return true;
    id->text = j->text;
    if (j->text.p != j->scratch || !j->text.n) return true; /* the text is a view of the input */
    char *copy = arena_alloc(c->work, j->text.n);
    if (!copy) return err_memory(c->e);
    id->text.p = memcpy(copy, j->text.p, j->text.n);
    return true;
}

static bool dur_field(chrome *c, json *j, int64_t *dur)
{
    if (json_next(j) == JSON_NULL) return true;
    if (!json_to_scaled(j, 3, dur, &c->rounded)) return false;
    if (*dur < 0) *dur = 0;
    return true;
}

static bool phase(json *j, chrome_fields *f)
{
    if (json_next(j) != JSON_STRING) return json_expected(j, "text");
    f->ph = j->text.n == 1 ? j->text.p[0] : '?';
    return true;
}

/* Reads id2: {"local": "0x1"} or {"global": ...}. */
static bool id2(chrome *c, json *j, chrome_fields *f)
{
    if (json_next(j) != JSON_OBJECT) return json_skip_open(j);
    while (json_key(j))
        if (!copy_escaped(c, j, &c->copies[2], &f->id)) return false;
    return !j->bad;
}

static bool event_field(chrome *c, json *j, chrome_fields *f)
{
    switch (j->text.n) {
    case 2:
        if (json_is(j, "ph")) return phase(j, f);
        if (json_is(j, "ts"))
            return json_next(j), f->has_ts = json_to_scaled(j, 3, &f->ts, &c->rounded);
        if (json_is(j, "id")) return copy_escaped(c, j, &c->copies[2], &f->id);
        break;
    case 3:
        if (json_is(j, "pid")) return json_next(j), chrome_id_of(c, j, &f->pid);
        if (json_is(j, "tid")) return json_next(j), chrome_id_of(c, j, &f->tid);
        if (json_is(j, "dur")) return dur_field(c, j, &f->dur);
        if (json_is(j, "cat")) return copy_escaped(c, j, &c->copies[1], &f->category);
        if (json_is(j, "id2")) return id2(c, j, f);
        break;
    case 4:
        if (json_is(j, "name")) return copy_escaped(c, j, &c->copies[0], &f->name);
        if (json_is(j, "args")) return json_take_slice(j, &f->args);
        if (json_is(j, "tdur")) return f->details++, dur_field(c, j, &f->thread_dur);
        break;
    default: break;
    }
    if (!f->detail.n && j->text.p != j->scratch) f->detail = j->text;
    f->details++;
    return json_skip_value(j);
}

/* ---- the fast path ---- */

typedef enum event_key {
    KEY_ARGS,
    KEY_CAT,
    KEY_DUR,
    KEY_ID,
    KEY_ID2,
    KEY_NAME,
    KEY_PH,
    KEY_PID,
    KEY_TDUR,
    KEY_TID,
    KEY_TS,
    KEY_TTS,
    KEY_OTHER, /* also the start of an event, for next_key[] */
} event_key;

/* Keys, each with the quote and colon after it, as one 64-bit word. */
static const struct {
    uint64_t word, mask;
    size_t n;
} keys[] = {
    [KEY_ARGS] = SCAN_KEY4('a', 'r', 'g', 's'),
    [KEY_CAT] = SCAN_KEY3('c', 'a', 't'),
    [KEY_DUR] = SCAN_KEY3('d', 'u', 'r'),
    [KEY_ID] = SCAN_KEY2('i', 'd'),
    [KEY_ID2] = SCAN_KEY3('i', 'd', '2'),
    [KEY_NAME] = SCAN_KEY4('n', 'a', 'm', 'e'),
    [KEY_PH] = SCAN_KEY2('p', 'h'),
    [KEY_PID] = SCAN_KEY3('p', 'i', 'd'),
    [KEY_TDUR] = SCAN_KEY4('t', 'd', 'u', 'r'),
    [KEY_TID] = SCAN_KEY3('t', 'i', 'd'),
    [KEY_TS] = SCAN_KEY2('t', 's'),
    [KEY_TTS] = SCAN_KEY3('t', 't', 's'),
};

static bool is_key(uint64_t w, event_key k) { return (w & keys[k].mask) == keys[k].word; }

/* Identifies the key whose quote is at p. Returns the position after its colon; NULL for other
 * spellings. */
static const char *find_key(const char *p, const char *limit, event_key *key, chrome_fields *f)
{
    uint64_t w = load8(p + 1);
    for (event_key k = KEY_ARGS; k < KEY_OTHER; k++)
        if (is_key(w, k)) return *key = k, p + 1 + keys[k].n;
    *key = KEY_OTHER;
    const char *close = scan_text(p + 1, limit);
    if (!close || close[1] != ':') return NULL;
    if (!f->detail.n) f->detail = (str){p + 1, (size_t)(close - p - 1)};
    return close + 2;
}

static inline const char *scan_str(const char *p, const char *limit, str *out)
{
    if (*p != '"') return NULL;
    const char *end = scan_text(p + 1, limit);
    if (!end) return NULL;
    *out = (str){p + 1, (size_t)(end - p - 1)};
    return end + 1;
}

static inline const char *scan_id(const char *p, const char *end, chrome_id *id)
{
    *id = (chrome_id){0};
    return json_quick_int(p, end, &id->number);
}

static inline const char *scan_phase(const char *p, chrome_fields *f)
{
    if (*p != '"' || p[2] != '"' || (unsigned char)p[1] <= ' ' || p[1] == '\\') return NULL;
    f->ph = p[1];
    return p + 3;
}

static inline const char *scan_args(const json *j, const char *p, const char *limit,
                                    chrome_fields *f)
{
    const char *end = *p == '{' ? scan_past_brackets(p, limit) : NULL;
    if (end) f->args = (json_slice){{p, (size_t)(end - p)}, j->base + (uint64_t)(p - j->window)};
    return end;
}

/* Reads the value at p; returns the position after it. */
static inline const char *scan_value(const json *j, event_key key, const char *p, const char *limit,
                                     chrome_fields *f)
{
    switch (key) {
    case KEY_PH: return scan_phase(p, f);
    case KEY_TS: f->has_ts = true; return scan_micros(p, j->end, &f->ts);
    case KEY_DUR: return scan_micros(p, j->end, &f->dur);
    case KEY_PID: return scan_id(p, j->end, &f->pid);
    case KEY_TID: return scan_id(p, j->end, &f->tid);
    case KEY_NAME: return scan_str(p, limit, &f->name);
    case KEY_CAT: return scan_str(p, limit, &f->category);
    case KEY_ID: return scan_str(p, limit, &f->id);
    case KEY_ARGS: return scan_args(j, p, limit, f);
    case KEY_TDUR: f->details++; return scan_micros(p, j->end, &f->thread_dur);
    case KEY_ID2: return NULL;
    case KEY_TTS:
        if (!f->detail.n) f->detail = STR("tts");
        break;
    case KEY_OTHER: break;
    }
    f->details++;
    return scan_past_value(p, limit);
}

/* Whether the key at p is one of the two that most recently followed the previous key. */
static inline bool expected_key(const char *p, const uint8_t next[2], event_key *key)
{
    uint64_t w = load8(p + 1);
    *key = (event_key)next[0];
    if (LIKELY(*key != KEY_OTHER && is_key(w, *key))) return true;
    *key = (event_key)next[1];
    return *key != KEY_OTHER && is_key(w, *key);
}

/* Reads an event whose { has been read. Returns false to leave it to the tokenizer. The keys are
 * nearly always in the same order as in the previous event. */
static bool scan_event(chrome *c, json *j, chrome_fields *f)
{
    if (j->end - j->p < SCAN_MARGIN) return false;
    const char *end = j->end, *limit = end - SCAN_MARGIN, *p = json_skip_blanks(j->p, end);
    uint8_t *next = c->next_key[KEY_OTHER];
    /* Without the prefetch every event waits for memory, which costs 5 %. */
    for (int i = 0; i < 3; i++) __builtin_prefetch(p + 1024 + 64 * i);
    while (p < limit && *p == '"') {
        event_key key;
        p = expected_key(p, next, &key) ? p + 1 + keys[key].n : find_key(p, limit, &key, f);
        if (!p || (p = json_skip_blanks(p, end)) >= limit) return false;
        if (key != next[0]) next[1] = next[0], next[0] = (uint8_t)key;
        next = c->next_key[key];
        p = scan_value(j, key, p, limit, f);
        if (!p || (p = json_skip_blanks(p, end)) >= limit) return false;
        if (*p == '}') {
            j->p = p;
            j->at = json_here(j);
            j->tok = JSON_OBJECT_END;
            json_leave(j);
            return true;
        }
        if (*p != ',') return false;
        p = json_skip_blanks(p + 1, end);
    }
    return false;
}

bool chrome_read_event(chrome *c, json *j, chrome_fields *f)
{
    *f = (chrome_fields){.dur = -1};
    if (j->tok != JSON_OBJECT) return json_expected(j, "an event");
    if (scan_event(c, j, f)) return true;
    *f = (chrome_fields){.dur = -1};
    while (json_key(j))
        if (!event_field(c, j, f)) return false;
    return !j->bad;
}
