/* draw/xml.h - foreign text inside XML and numbers as attributes want them.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* s as character data or attribute value: markup escaped, what XML 1.0 cannot hold (control characters,
 * broken UTF-8) as U+FFFD, line breaks as blanks. */
void xml_text(buf *b, str s);

/* v with at most three decimals and none that say nothing: "12", "0.125".  |v| < 1e12. */
void xml_number(buf *b, double v);
