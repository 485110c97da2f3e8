/* server/health.h - grpc.health.v1.Health, for load balancers and Kubernetes probes, over gRPC,
 * gRPC-Web and Connect.  Check returns SERVING while the server accepts profiles (as /readyz does),
 * NOT_SERVING otherwise, and NOT_FOUND for an unknown service.  Watch is UNIMPLEMENTED, which the
 * protocol allows: clients then call Check. */
#pragma once
#include "net/http_server.h"

/* Returns whether the path belongs to the service, which requires no token. */
bool health_has(str path);
/* Responds to a call. */
void health_request(http_exchange *x, bool ready);
