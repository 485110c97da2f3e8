/* server/health.h - grpc.health.v1.Health: what balancers and kubelets call over gRPC.
 *
 * Check answers SERVING while the server takes profiles (as /readyz), NOT_SERVING otherwise, and NOT_FOUND for a service that it does
 * not have.  Watch is UNIMPLEMENTED, which the protocol allows: clients then call Check. */
#pragma once
#include "net/http_server.h"

/* Is it Check?  It takes no token. */
bool health_is_check(str path);

/* Answers a Check. */
void health_answer(http_exchange *x, bool ready);
