/* The parts that all SVGs share. */
#include "draw/svg.h"

#include "draw/label.h"
#include "draw/text.h"
#include "draw/xml.h"
#include "base/ban.h"

void svg_begin(buf *b, double width, double height, const char *data)
{
    buf_z(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
             "xmlns=\"http://www.w3.org/2000/svg\" width=\"");
    xml_number(b, width);
    buf_z(b, "\" height=\"");
    xml_number(b, height);
    buf_z(b, "\" viewBox=\"0 0 ");
    xml_number(b, width);
    buf_putc(b, ' ');
    xml_number(b, height);
    buf_printf(b, "\"%s>\n", data);
}

void svg_style(buf *b, str style)
{
    buf_z(b, "<style>\n");
    buf_str(b, svg_css);
    buf_str(b, style);
    buf_z(b, "</style>\n");
}

void svg_ground(buf *b) { buf_z(b, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"); }

/* Writes s, truncated to n columns at a code point. */
static void put_clipped(buf *b, str s, size_t n)
{
    buf cut = {0};
    text_clipped(&cut, s, n);
    if (cut.failed) b->failed = true;
    xml_text(b, buf_view(&cut));
    buf_free(&cut);
}

void svg_name(buf *b, str name, size_t n)
{
    buf cut = {0};
    name_cut(&cut, name, n);
    if (cut.failed) b->failed = true;
    xml_text(b, buf_view(&cut));
    buf_free(&cut);
}

void svg_line(buf *b, const char *class_name, double x, double y, str text, double room)
{
    buf_printf(b, "<text class=\"%s\" x=\"", class_name);
    xml_number(b, x);
    buf_z(b, "\" y=\"");
    xml_number(b, y);
    buf_z(b, "\">");
    put_clipped(b, text, room > 0 ? (size_t)(room * 1000 / SVG_NAME_MPX) : 0);
    buf_z(b, "</text>\n");
}

void svg_end(buf *b, str script)
{
    if (script.n) {
        buf_z(b, "<script><![CDATA[\n");
        buf_str(b, script);
        buf_z(b, "]]></script>\n");
    }
    buf_z(b, "</svg>\n");
}
