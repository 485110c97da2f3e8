/* net/url.h - http and https addresses, as far as an endpoint needs them.  Pure. */
#pragma once
#include "base/err.h"
#include "base/str.h"

typedef struct url {
    bool tls;        /* https */
    bool has_scheme; /* it was written */
    bool has_port;
    bool bracketed; /* an IPv6 address */
    str host;       /* without brackets */
    uint16_t port;  /* 80 or 443 where none is written */
    str path;       /* from the slash on, without ? and #; may be "" */
} url;

/* Views into `text`.  "host:4317" without a scheme is taken too.  User names, queries and other schemes
 * are refused.  ERR_USAGE. */
NODISCARD bool url_parse(str text, url *out, err *e);

/* localhost, 127.x.x.x or ::1. */
bool url_is_local(const url *u);
