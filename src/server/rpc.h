/* server/rpc.h - unary calls over HTTP in four dialects: content types, bodies, frames, errors.
 *
 *   application/proto, application/json   Connect: the body is the message
 *   application/grpc                      frames; the status is in trailers, so it requires HTTP/2
 *   application/grpc-web                  frames; the status is the last frame
 *
 * The caller knows the methods and their messages. */
#pragma once
#include "net/grpc.h"
#include "net/http_server.h"
#include "wire/schema.h"

typedef enum rpc_dialect {
    RPC_NONE, /* not a call */
    RPC_CONNECT,
    RPC_CONNECT_JSON,
    RPC_GRPC,
    RPC_GRPC_WEB,
} rpc_dialect;

/* Returns the dialect that the content type names; RPC_NONE for other types. */
rpc_dialect rpc_dialect_of(const http_message *m);
/* Returns whether messages of the dialect are in frames. */
static inline bool rpc_framed(rpc_dialect d) { return d == RPC_GRPC || d == RPC_GRPC_WEB; }

/* Responds to a call with a wrong HTTP method, content type, HTTP version or encoding, and returns
 * true.  Returns false when rpc_read can read the call. */
bool rpc_reject(http_exchange *x);

/* Reads the message of a call as protobuf; `request` is NULL for a message without fields.  *out is
 * a copy with at most max bytes.  ERR_MALFORMED; ERR_LIMIT for a body over its limit; ERR_BUSY when
 * it was discarded because too much data arrived at once. */
NODISCARD bool rpc_read(const http_message *m, const message_desc *request, size_t max, arena *a,
                        str *out, err *e);

/* Append a frame, and the frame with the status that ends a response of gRPC-Web. */
void rpc_put_frame(buf *out, bool packed, str message);
void rpc_put_web_status(buf *out, grpc_code code, str text);

/* Returns the code of a failed call. */
grpc_code rpc_code_of(const err *e);
/* Sends an error in the dialect of the call, as Connect to other requests; retry: seconds for
 * Retry-After, 0: none. */
void rpc_reply_error(http_exchange *x, grpc_code code, str text, unsigned retry);
