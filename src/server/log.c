#include "server/log.h"

#include "base/utf8.h"
#include "wire/json.h"
#include "base/ban.h"
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 4096 }; /* a pipe takes as much in one piece */

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

/* Nothing that a sender sent may end the line or move the cursor. */
static void put_clean(buf *b, const char *text)
{
    for (; *text; text++) buf_putc(b, (unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
}

static void print_text(buf *b, const log_line *l)
{
    buf_z(b, "kiln: ");
    put_clean(b, l->sentence);
    buf_putc(b, '\n');
}

/* ---- JSON ---- */

static void put_pair(json_out *o, const char *key, const char *text)
{
    json_put_key(o, str_of(key));
    json_put_str(o, utf8_ok(text, strlen(text)) ? str_of(text) : STR("(not UTF-8)"));
}

static void print_json(buf *b, const log_line *l, const char *time)
{
    json_out o = {.b = b};
    json_put_object(&o);
    put_pair(&o, "time", time);
    put_pair(&o, "level", l->trouble ? "warning" : "info");
    put_pair(&o, "event", event_name(l->event));
    put_pair(&o, "message", l->sentence);
    for (const log_fact *f = l->facts; f < l->facts + LOG_FACTS && f->key; f++) {
        if (f->text) {
            put_pair(&o, f->key, f->text);
            continue;
        }
        json_put_key(&o, str_of(f->key));
        json_put_u64(&o, f->number);
    }
    json_put_object_end(&o);
    buf_putc(b, '\n');
}

/* ---- logfmt ---- */

static bool is_bare(const char *text)
{
    const char *t = text;
    while ((unsigned char)*t > ' ' && *t != 127 && *t != '"' && *t != '=' && *t != '\\') t++;
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
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buf_putc(b, '\\');
        buf_putc(b, (unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
    }
    buf_putc(b, '"');
}

static void print_logfmt(buf *b, const log_line *l, const char *time)
{
    buf_printf(b, "time=%s level=%s event=%s", time, l->trouble ? "warning" : "info",
               event_name(l->event));
    put_word(b, "message", l->sentence);
    for (const log_fact *f = l->facts; f < l->facts + LOG_FACTS && f->key; f++) {
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
    log_print(&b, atomic_load(&l->format), line, l->world->wall(l->world->who));
    struct pollfd room = {.fd = l->fd, .events = POLLOUT}; /* of a pipe: for LINE bytes */
    if (!b.failed && poll(&room, 1, 0) == 1 && room.revents & POLLOUT) {
        ssize_t n = write(l->fd, b.p, b.n); /* in one piece: lines of threads do not mix */
        (void)n;
    }
    buf_free(&b);
}
