/* Splits an input into payloads (frames.h): from memory, or from a source through a window that
 * holds one payload. */
#include "wire/frames.h"

#include "base/ban.h"
#include <inttypes.h>

enum {
    CHUNK = 256 * 1024,
    HEAD = 512,       /* bytes that framing_detect requires */
    FIRST_PB_TAG = 8, /* field 1, wire type 0: no message starts with a smaller byte */
};

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static size_t skip_blanks(str s, size_t i)
{
    while (i < s.n && blank(s.p[i])) i++;
    return i;
}

/* Returns whether s starts with `{`, then `}` or a quoted key and a colon.  Protobuf that starts
 * like "\n{\n\"" does not: a tag follows the quote, and tags are control characters. */
static bool looks_like_json(str s)
{
    size_t i = str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
    i = skip_blanks(s, i);
    if (i == s.n || s.p[i] != '{') return false;
    if (i == 0) return true; /* 0x7b is not a valid protobuf tag */
    i = skip_blanks(s, i + 1);
    if (i == s.n) return true;
    if (s.p[i] == '}') return true;
    if (s.p[i] != '"') return false;
    for (i++; i < s.n && s.p[i] != '"'; i++)
        if ((unsigned char)s.p[i] < 0x20) return false;
    if (i == s.n) return true;
    i = skip_blanks(s, i + 1);
    return i == s.n || s.p[i] == ':';
}

static uint32_t u32_be(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool lengths_tile(str s)
{
    size_t i = 0;
    while (s.n - i >= 4) {
        size_t n = u32_be(s.p + i);
        i += 4;
        if (n > s.n - i) return false;
        i += n;
    }
    return i == s.n;
}

framing framing_detect(str head, bool whole)
{
    if (looks_like_json(head)) return FRAMING_JSON;
    if (head.n == 0) return FRAMING_NONE;
    if ((uint8_t)head.p[0] < FIRST_PB_TAG) return FRAMING_LENGTHS;
    return whole && head.n >= 4 && lengths_tile(head) ? FRAMING_LENGTHS : FRAMING_NONE;
}

frames frames_of(str in, size_t max_payload, arena *a)
{
    return (frames){
        .p = in.n ? in.p : "",
        .n = in.n,
        .a = a,
        .ended = true,
        .max_payload = max_payload ? max_payload : FRAMES_MAX_PAYLOAD,
    };
}

frames frames_from(source *from, size_t max_payload, arena *a)
{
    return (frames){
        .from = from,
        .p = "",
        .a = a,
        .max_payload = max_payload ? max_payload : FRAMES_MAX_PAYLOAD,
    };
}

void frames_close(frames *f)
{
    if (f->cap) free((void *)(uintptr_t)f->p);
    f->p = "";
    f->n = f->at = f->cap = 0;
}

static uint64_t offset(const frames *f) { return f->base + f->at; }
static size_t left(const frames *f) { return f->n - f->at; }

static bool fail(frames *f) { return !(f->failed = true); }

/* ---- the window over the input ---- */

/* Moves the unread bytes to the front and makes room for `want` bytes. */
static bool make_room(frames *f, size_t want, err *e)
{
    char *old = f->cap ? (char *)(uintptr_t)f->p : NULL;
    if (f->at && old) {
        memmove(old, old + f->at, left(f));
        f->base += f->at;
        f->n -= f->at;
        f->at = 0;
    }
    if (want <= f->cap) return true;
    size_t cap = f->cap * 2 > want ? f->cap * 2 : want;
    char *p = realloc(old, cap);
    if (!p) {
        err_at(e, ERR_MEMORY, offset(f), "out of memory for a payload of %zu bytes", want);
        return fail(f);
    }
    f->p = p;
    f->cap = cap;
    return true;
}

/* Reads until the window has at least `want` unread bytes, or all there are.  May move p. */
static bool fill(frames *f, size_t want, err *e)
{
    while (left(f) < want && !f->ended) {
        size_t room = want < CHUNK ? CHUNK : want;
        if (f->cap - f->at < room && !make_room(f, room, e)) return false;
        size_t got = 0;
        char *p = (char *)(uintptr_t)f->p;
        if (!source_read(f->from, p + f->n, f->cap - f->n, &got, e)) return fail(f);
        f->n += got;
        f->ended = got == 0;
    }
    return true;
}

static bool too_large(frames *f, err *e)
{
    err_at(e, ERR_LIMIT, offset(f), "payload is larger than the limit of %zu bytes",
           f->max_payload);
    err_hint(e, "--max-payload");
    return fail(f);
}

/* ---- one payload ---- */

static bool next_whole(frames *f, payload *p, err *e)
{
    if (f->index) return false;
    for (size_t want = CHUNK; !f->ended; want = left(f) + CHUNK) {
        if (!fill(f, want, e)) return false;
        if (f->from && left(f) > f->max_payload) return too_large(f, e);
    }
    *p = (payload){.bytes = {f->p + f->at, left(f)}, .offset = offset(f)};
    f->at = f->n;
    return true;
}

/* Returns the limit for a decompressed frame: the limit of a payload, or what is left of the limit
 * of all frames. */
static size_t room_for(const frames *f)
{
    size_t all = unpack_allowance((size_t)(f->base + f->n));
    size_t rest = all > f->unpacked ? all - (size_t)f->unpacked : 1;
    return rest < f->max_payload ? rest : f->max_payload;
}

static bool unwrap(frames *f, payload *p, err *e)
{
    unpacked u;
    if (!unpack(p->bytes, room_for(f), f->a, &u, e)) {
        err_in(e, "payload[%" PRIu64 "]", f->index);
        return fail(f);
    }
    if (u.n_layers) f->unpacked += u.bytes.n;
    p->bytes = u.bytes;
    p->packed = u.n_layers > 0;
    p->kind = looks_like_json(u.bytes) ? PAYLOAD_JSON : PAYLOAD_PROTOBUF;
    return true;
}

/* Sets *n to the length of the next frame that is not empty.  Returns false at the end or on
 * failure. */
static bool skip_empty(frames *f, size_t *n, err *e)
{
    for (*n = 0;;) {
        if (!fill(f, 4, e) || left(f) < 4) return false;
        if ((*n = u32_be(f->p + f->at))) return true;
        f->at += 4;
        f->empty++;
        f->zeros += 4;
    }
}

/* Returns whether a truncated frame ends the stream: f->salvage is set and a payload was
 * complete. */
static bool cut_is_end(frames *f)
{
    f->cut = f->salvage && f->index;
    f->cut_at = offset(f);
    return f->cut;
}

static bool stream_ends(frames *f, err *e)
{
    if (f->failed) return false;
    size_t n = left(f);
    if (n ? cut_is_end(f) : f->index || !f->empty) return false;
    if (n)
        err_at(e, ERR_MALFORMED, offset(f), "frame length is cut off: %zu of 4 bytes", n);
    else
        err_set(e, ERR_MALFORMED, "%" PRIu64 " empty frame%s and nothing else", f->empty,
                f->empty == 1 ? "" : "s");
    return fail(f);
}

static bool next_length(frames *f, payload *p, err *e)
{
    size_t n;
    if (!skip_empty(f, &n, e)) return stream_ends(f, e);
    if (f->from && n > f->max_payload) return too_large(f, e);
    if (!fill(f, 4 + n, e)) return false;
    if (left(f) - 4 < n) {
        if (cut_is_end(f)) return false;
        err_at(e, ERR_MALFORMED, offset(f), "frame needs %zu bytes, %zu are left", n, left(f) - 4);
        return fail(f);
    }
    f->zeros = 0;
    f->at += 4;
    *p = (payload){.bytes = {f->p + f->at, n}, .offset = offset(f)};
    f->at += n;
    return unwrap(f, p, e);
}

/* State of the scan for the end of a JSON text.  It only follows strings and nesting.  The decoder
 * checks the text and reports a missing end. */
typedef struct json_scan {
    size_t i; /* bytes scanned */
    size_t depth;
    bool in_string, done;
} json_scan;

static const uint8_t json_special[256] = {
    ['"'] = 1, ['\\'] = 2, ['{'] = 3, ['['] = 3, ['}'] = 4, [']'] = 4};

/* Continues the scan through s and sets j->done when the document is complete.  A backslash at the
 * end of s is left for the next call. */
static void scan_json(json_scan *j, str s)
{
    const char *p = s.p;
    size_t i = j->i;
    while (i < s.n) {
        uint8_t k = json_special[(uint8_t)p[i]];
        if (!k) {
            i++;
        } else if (j->in_string) {
            if (k == 2 && i + 1 == s.n) break;
            if (k == 1) j->in_string = false;
            i += k == 2 ? 2 : 1;
        } else {
            i++;
            if (k == 1) j->in_string = true;
            if (k == 3) j->depth++;
            if (k == 4 && (j->depth <= 1 || --j->depth == 0)) {
                j->done = true;
                break;
            }
        }
    }
    j->i = i;
}

static bool next_json(frames *f, payload *p, err *e)
{
    for (;;) {
        if (!fill(f, 1, e)) return false;
        if (f->index == 0 && f->base + f->at == 0 && fill(f, 3, e) &&
            str_starts((str){f->p, f->n}, STR("\xef\xbb\xbf")))
            f->at = 3;
        while (f->at < f->n && blank(f->p[f->at])) f->at++;
        if (left(f)) break;
        if (f->ended) return false;
    }
    json_scan j = {0};
    for (;;) {
        scan_json(&j, (str){f->p + f->at, left(f)});
        if (f->from && j.i > f->max_payload) return too_large(f, e);
        if (j.done || f->ended) break;
        if (!fill(f, left(f) + CHUNK, e)) return false;
    }
    size_t n = j.done ? j.i : left(f);
    *p = (payload){
        .bytes = {f->p + f->at, n}, .offset = offset(f), .kind = PAYLOAD_JSON, .cut = !j.done};
    f->at += n;
    return true;
}

static bool too_many_tiny(frames *f, err *e)
{
    err_at(e, ERR_LIMIT, offset(f),
           "more than %d payloads of fewer than %d bytes: no stream of profiles", FRAMES_MAX_TINY,
           FRAMES_TINY);
    return fail(f);
}

bool frames_more(const frames *f)
{
    size_t i = f->at;
    if (f->framing == FRAMING_JSON) i = skip_blanks((str){f->p, f->n}, i);
    return i < f->n;
}

bool frames_next(frames *f, payload *p, err *e)
{
    if (f->failed) return false;
    if (!f->started) {
        if (!fill(f, HEAD, e)) return false;
        f->framing = framing_detect((str){f->p + f->at, left(f)}, f->ended);
        f->started = true;
    }
    bool more = f->framing == FRAMING_LENGTHS ? next_length(f, p, e)
                : f->framing == FRAMING_JSON  ? next_json(f, p, e)
                                              : next_whole(f, p, e);
    if (!more) return false;
    if (p->bytes.n < FRAMES_TINY && ++f->tiny > FRAMES_MAX_TINY) return too_many_tiny(f, e);
    p->index = f->index++;
    return true;
}
