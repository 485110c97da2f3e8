/* net/url.h - parses http and https URLs of endpoints.  No I/O. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct url {
    bool tls;        /* https */
    bool has_scheme; /* the text had a scheme */
    bool has_port;
    bool bracketed; /* an IPv6 address */
    str host;       /* without brackets */
    uint16_t port;  /* 80 or 443 by default */
    str path;       /* from the slash on; may be "" */
} url;

/* Parses `text`; *out refers to it.  Accepts "host:4317" without a scheme.  Rejects user names,
 * queries and other schemes with ERR_USAGE. */
NODISCARD bool url_parse(str text, url *out, err *e);

/* Returns whether the host is localhost, 127.x.x.x or ::1. */
bool url_is_local(const url *u);
