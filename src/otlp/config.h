/* otlp/config.h - the configuration of an exporter: the OTEL_EXPORTER_OTLP_* variables
 * (docs/exporter.md), or an address.
 *
 * Reads the environment through a function and opens nothing. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"
#include "wire/compress.h"
#include "base/time.h"

typedef enum otlp_signal { OTLP_PROFILES, OTLP_LOGS } otlp_signal;
typedef enum otlp_protocol { OTLP_HTTP, OTLP_GRPC } otlp_protocol; /* HTTP: protobuf bodies */

#define OTLP_TIMEOUT_NS (10 * NS_PER_S)

typedef struct otlp_config {
    otlp_signal signal;
    otlp_protocol protocol;
    url to;           /* to.path is the path of requests */
    codec codec;      /* compression of requests */
    uint64_t timeout; /* of one attempt, in ns; 0: none */
    http_headers headers;
    tls_files tls;
    /* How a user sets the endpoint, the protocol and the CA, up to the value: "--to ",
     * "OTEL_EXPORTER_OTLP_ENDPOINT=".  For advice in messages. */
    const char *set_endpoint, *set_protocol, *set_ca;
    /* The names of the proxy variables that are set, by scheme, or NULL; the value of NO_PROXY, or
     * NULL. */
    const char *http_proxy, *https_proxy, *no_proxy;
} otlp_config;

typedef struct otlp_environment {
    const char *(*get)(void *ctx, const char *name); /* works like getenv */
    void (*warn)(void *ctx, const char *message);    /* reports an ignored value; may be NULL */
    void *ctx;
} otlp_environment;

const char *otlp_signal_name(otlp_signal s);     /* "profiles" */
const char *otlp_signal_path(otlp_signal s);     /* "/v1development/profiles" */
const char *otlp_signal_method(otlp_signal s);   /* gRPC: "/opentelemetry.proto.…/Export" */
const char *otlp_protocol_name(otlp_protocol p); /* "http/protobuf" */

/* Reads the environment.  Variables of the signal take precedence over general ones.  Texts are
 * allocated from `a`.  Fails with ERR_USAGE for an invalid endpoint; other invalid values are
 * ignored with a warning. */
NODISCARD bool otlp_config_read(otlp_signal s, const otlp_environment *env, arena *a,
                                otlp_config *out, err *e);

/* Reads only the certificate files (OTEL_EXPORTER_OTLP_CERTIFICATE and others), for queries to a
 * server. */
tls_files otlp_config_tls(const otlp_environment *env, arena *a);

/* Replaces the endpoint by an address from the command line.  An address without a path gets the
 * path of the signal.  Without a scheme, a loopback address uses plaintext and others TLS; without
 * scheme and port, the default port of the protocol is used.  With `guess`, port 4317 means gRPC
 * and other ports HTTP. */
NODISCARD bool otlp_config_address(otlp_config *c, str address, bool guess, arena *a, err *e);

/* kiln does not use proxies.  Returns the variable that would set a proxy for this address
 * ("HTTPS_PROXY"), for a warning, or NULL when none is set, NO_PROXY excludes the host, or the
 * address is local. */
const char *otlp_ignored_proxy(const otlp_config *c);

/* Adds a header NAME=VALUE. Returns false when the text is invalid. */
NODISCARD bool otlp_config_header(otlp_config *c, str text, arena *a);

/* Parses "grpc" or "http/protobuf".  Returns false for others (http/json is not supported). */
NODISCARD bool otlp_protocol_parse(str text, otlp_protocol *out);
/* Parses "none", "gzip" or "zstd". */
NODISCARD bool otlp_codec_parse(str text, codec *out);
