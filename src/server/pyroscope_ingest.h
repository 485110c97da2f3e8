/* server/pyroscope_ingest.h - the endpoints by which Pyroscope's SDKs and Alloy send profiles.
 *
 *   POST /ingest, /pyroscope/ingest              any body of src/pyroscope/ingest.h; responds without one
 *   POST /push.v1.PusherService/Push             Connect (binary, JSON), gRPC, gRPC-Web
 *
 * Requests go through server/ingest.h as those of OTLP do. Errors over HTTP have Pyroscope's form:
 * {"code":"invalid_argument","message":"..."}. X-Scope-OrgID is ignored: a store has one tenant. */
#pragma once
#include "otlp/receive.h"

/* Returns false when the path is not one of these. */
bool pyroscope_ingest_route(const http_message *m, receive_route *out);
