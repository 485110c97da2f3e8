/* otlp/config.h - where to send and how: the OTEL_EXPORTER_OTLP_* variables (docs/exporter.md), or an address.
 *
 * Reads the environment through a function and opens nothing. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"
#include "wire/compress.h"

typedef enum otlp_signal { OTLP_PROFILES, OTLP_LOGS } otlp_signal;
typedef enum otlp_protocol { OTLP_HTTP, OTLP_GRPC } otlp_protocol; /* HTTP: protobuf bodies */

#define OTLP_TIMEOUT_NS (10 * UINT64_C(1000000000))

typedef struct otlp_config {
    otlp_signal signal;
    otlp_protocol protocol;
    url to;           /* path: what to ask for */
    codec codec;      /* of requests */
    uint64_t timeout; /* ns of one attempt; 0: none */
    http_headers headers;
    tls_files tls;
    /* What set them, as a person would write it before the new value: "OTEL_EXPORTER_OTLP_ENDPOINT=",
     * "--to ".  For advice. */
    const char *set_endpoint, *set_protocol, *set_ca;
    /* Names of the proxy variables that are set, by the scheme they are for, or NULL; what NO_PROXY says, or NULL. */
    const char *http_proxy, *https_proxy, *no_proxy;
} otlp_config;

typedef struct otlp_environment {
    const char *(*get)(void *who, const char *name); /* as getenv */
    void (*warn)(void *who, const char *sentence);   /* a value that is ignored; may be NULL */
    void *who;
} otlp_environment;

const char *otlp_signal_name(otlp_signal s);     /* "profiles" */
const char *otlp_signal_path(otlp_signal s);     /* "/v1development/profiles" */
const char *otlp_signal_method(otlp_signal s);   /* gRPC: "/opentelemetry.proto.…/Export" */
const char *otlp_protocol_name(otlp_protocol p); /* "http/protobuf" */

/* All from the environment, the signal's own variables before the general ones.  Texts lie in `a`.
 * ERR_USAGE: an endpoint that is none.  Other values that make no sense are warned of and ignored. */
NODISCARD bool otlp_config_read(otlp_signal s, const otlp_environment *env, arena *a,
                                otlp_config *out, err *e);

/* The files of OTEL_EXPORTER_OTLP_CERTIFICATE and its kin alone, for those who talk to a server otherwise. */
tls_files otlp_config_tls(const otlp_environment *env, arena *a);

/* Replaces the endpoint: an address that a person typed.  With a path it is taken as it stands, otherwise
 * the signal's own is used.  Without a scheme: plaintext to this machine, TLS elsewhere; without a scheme
 * and a port: the usual one of the protocol.  `guess`: port 4317 means gRPC, others HTTP. */
NODISCARD bool otlp_config_address(otlp_config *c, str address, bool guess, arena *a, err *e);

/* kiln connects directly.  The variable by which others would take a proxy to this address ("HTTPS_PROXY"), for a warning; NULL: none
 * is set, NO_PROXY names the host, or the address is this machine's. */
const char *otlp_ignored_proxy(const otlp_config *c);

/* Adds a header, NAME=VALUE; false: it is none. */
NODISCARD bool otlp_config_header(otlp_config *c, str text, arena *a);

/* "grpc", "http/protobuf"; false: neither (http/json is not spoken). */
NODISCARD bool otlp_protocol_parse(str text, otlp_protocol *out);
/* "none", "gzip", "zstd". */
NODISCARD bool otlp_codec_parse(str text, codec *out);
