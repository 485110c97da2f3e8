/* server/health.h - grpc.health.v1.Health, for load balancers and Kubernetes probes.  Check returns
 * SERVING while the server accepts profiles (as /readyz does), NOT_SERVING otherwise, and NOT_FOUND
 * for an unknown service.  Watch is UNIMPLEMENTED, which the protocol allows: clients then call
 * Check. */
#pragma once
#include "net/http_server.h"

/* Returns whether the path is that of Check, which requires no token. */
bool health_is_check(str path);

/* Responds to a Check. */
void health_respond(http_exchange *x, bool ready);
/* Responds to a check that arrived without gRPC, as a call of Connect. */
void health_respond_connect(http_exchange *x, bool ready);
