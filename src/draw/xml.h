/* draw/xml.h - untrusted text and numbers in XML.  Pure. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* Appends s as character data or attribute value.  Markup is escaped; characters that XML 1.0
 * does not allow (control characters, invalid UTF-8) become U+FFFD, line breaks become spaces. */
void xml_text(buf *b, str s);

/* Appends v with at most three decimals and no trailing zeros: "12", "0.125".  |v| < 1e12. */
void xml_number(buf *b, double v);
