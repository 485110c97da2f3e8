/* Writes the HTML file of a report. */
#include "draw/report.h"

#include "base/utf8.h"
#include "base/ban.h"

static const char *escape_of(char c)
{
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    default: return (unsigned char)c < ' ' || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

/* Writes text as HTML, also inside quotes.  Invalid UTF-8 and control characters become U+FFFD,
 * so that any name of a profile gives a valid file. */
static void put_escaped(buf *out, str s)
{
    while (s.n) {
        size_t good = utf8_valid(s.p, s.n);
        for (size_t i = 0; i < good; i++) {
            const char *as = escape_of(s.p[i]);
            if (as)
                buf_z(out, as);
            else
                buf_putc(out, s.p[i]);
        }
        if (good < s.n) buf_z(out, "\xef\xbf\xbd"), good++;
        s.p += good, s.n -= good;
    }
}

static void put_data(buf *out, const char *role, const report_data *d)
{
    buf_printf(out, REPORT_DATA "%s\" data-name=\"", role);
    put_escaped(out, d->name);
    buf_z(out, "\">");
    buf_str(out, d->base64);
    buf_z(out, REPORT_END "\n");
}

void report_write(const report *r, buf *out)
{
    buf_z(out, "<!doctype html>\n" REPORT_MARK "1: a profile and its viewer in one file; "
               "`kiln convert THIS out.otlp` extracts the data -->\n"
               "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    put_escaped(out, r->profile.name.n ? r->profile.name : STR("profile"));
    buf_z(out, " - kiln</title>\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"generator\" content=\"kiln " KILN_VERSION "\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
               "<style>\n");
    buf_str(out, r->css);
    buf_z(out, "\n</style>\n</head>\n<body>\n"
               "<noscript>This report requires JavaScript; `kiln top` shows the same file "
               "in a terminal.</noscript>\n<div id=\"app\"></div>\n");
    put_data(out, "profile", &r->profile);
    if (r->base.base64.n) put_data(out, "base", &r->base);
    if (r->source.n) {
        buf_z(out, REPORT_SOURCE);
        buf_str(out, r->source);
        buf_z(out, REPORT_END "\n");
    }
    buf_z(out, "<script>\n");
    buf_str(out, r->js);
    buf_z(out, "\n</script>\n</body>\n</html>\n");
}
