/* Formats log lines.  Senders choose parts of a line, so control characters are escaped in all
 * formats. */
#include "server/log.h"

#include "base/utf8.h"
#include "wire/json.h"
#include "base/ban.h"
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 4096 }; /* a pipe writes this much atomically */

bool log_format_parse(const char *text, log_format *out)
{
    static const char *const names[] = {"text", "json", "logfmt"};
    *out = LOG_TEXT;
    if (!text) return true;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(text, names[i])) return *out = (log_format)i, true;
    return false;
}

static const char *event_name(log_event e)
{
    static const char *const names[] = {
#define X(name, text) [LOG_##name] = text,
        LOG_EVENTS(X)
#undef X
    };
    return names[e];
}

static void put_time(uint64_t wall, char out[40])
{
    time_t s = (time_t)(wall / NS_PER_S);
    struct tm t;
    char text[24];
    if (!gmtime_r(&s, &t) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t)) text[0] = 0;
    snprintf(out, 40, "%s.%03uZ", text, (unsigned)(wall % NS_PER_S / NS_PER_MS));
}

/* Escapes text so that senders can neither end the line nor move the cursor: control characters,
 * DEL, C1 and direction marks become \u009b, invalid bytes \x9b (as_json: \ufffd). `quoted`:
 * characters that get a backslash. */
static void put_escaped(buf *b, str s, const char *quoted, bool as_json)
{
    for (size_t i = 0, n; i < s.n; i += n) {
        uint32_t code;
        bool harmful = utf8_harmful(s.p + i, s.n - i, &n, &code);
        if (harmful && n == 1 && code >= 0x80)
            as_json ? buf_z(b, "\\ufffd") : buf_printf(b, "\\x%02x", (unsigned)code);
        else if (harmful)
            buf_printf(b, "\\u%04x", (unsigned)code);
        else if (n == 1 && strchr(quoted, s.p[i]))
            buf_putc(b, '\\'), buf_putc(b, s.p[i]);
        else
            buf_put(b, s.p + i, n);
    }
}

static void print_text(buf *b, const log_line *l)
{
    buf_z(b, "kiln: ");
    put_escaped(b, str_of(l->message), "", false);
    buf_putc(b, '\n');
}

/* ---- JSON ---- */

static void put_pair(json_out *o, const char *key, const char *text)
{
    json_put_key(o, str_of(key));
    json_put_str(o, str_of(text));
}

/* Escapes the whole line again, because JSON leaves DEL, C1 and invalid bytes in strings. */
static void print_json(buf *b, const log_line *l, const char *time)
{
    buf line = {.limit = LINE};
    json_out o = {.b = &line};
    json_put_object(&o);
    put_pair(&o, "time", time);
    put_pair(&o, "level", l->warning ? "warning" : "info");
    put_pair(&o, "event", event_name(l->event));
    put_pair(&o, "message", l->message);
    for (const log_field *f = l->fields; f < l->fields + LOG_FIELDS && f->key; f++) {
        if (f->text) {
            put_pair(&o, f->key, f->text);
            continue;
        }
        json_put_key(&o, str_of(f->key));
        json_put_u64(&o, f->number);
    }
    json_put_object_end(&o);
    b->failed |= line.failed;
    put_escaped(b, buf_view(&line), "", true);
    buf_putc(b, '\n');
    buf_free(&line);
}

/* ---- logfmt ---- */

static bool is_bare(const char *text)
{
    const char *t = text;
    while (*t > ' ' && *t != 127 && *t != '"' && *t != '=' && *t != '\\') t++;
    return *text && !*t;
}

static void put_word(buf *b, const char *key, const char *text)
{
    buf_printf(b, " %s=", key);
    if (is_bare(text)) {
        buf_z(b, text);
        return;
    }
    buf_putc(b, '"');
    put_escaped(b, str_of(text), "\"\\", false);
    buf_putc(b, '"');
}

static void print_logfmt(buf *b, const log_line *l, const char *time)
{
    buf_printf(b, "time=%s level=%s event=%s", time, l->warning ? "warning" : "info",
               event_name(l->event));
    put_word(b, "message", l->message);
    for (const log_field *f = l->fields; f < l->fields + LOG_FIELDS && f->key; f++) {
        if (f->text) {
            put_word(b, f->key, f->text);
            continue;
        }
        buf_printf(b, " %s=", f->key);
        buf_u64(b, f->number);
    }
    buf_putc(b, '\n');
}

void log_print(buf *out, log_format f, const log_line *l, uint64_t wall)
{
    char time[40];
    put_time(wall, time);
    switch (f) {
    case LOG_TEXT: print_text(out, l); return;
    case LOG_JSON: print_json(out, l, time); return;
    case LOG_LOGFMT: print_logfmt(out, l, time); return;
    }
}

void log_write(logger *l, const log_line *line)
{
    buf b = {.limit = LINE};
    log_print(&b, atomic_load(&l->format), line, l->world->wall(l->world->ctx));
    struct pollfd room = {.fd = l->fd, .events = POLLOUT}; /* for a pipe: space for LINE bytes */
    if (!b.failed && poll(&room, 1, 0) == 1 && room.revents & POLLOUT) {
        ssize_t n = write(l->fd, b.p, b.n); /* one write, so that lines of threads do not mix */
        (void)n;
    }
    buf_free(&b);
}
