/* server/endpoints.h - the handlers of the query API, by file. */
#pragma once
#include "server/routes.h"

api_handler api_labels, api_series, api_profiles; /* api_lists.c */
api_handler api_services;                         /* api_services.c */
api_handler api_profile, api_original;            /* api_profile.c */
api_handler api_spans, api_traces;                /* api_spans.c */
api_handler api_bill;                             /* api_bill.c */
api_handler api_store;                            /* api_store.c */
api_handler api_tree, api_top;                    /* api_graph.c */
api_handler api_diff;                             /* api_diff.c */
api_handler api_counts;                           /* api_time.c */
api_handler api_heat;                             /* api_heat.c */
api_handler api_lanes, api_chart;                 /* api_lanes.c */
api_handler api_openapi;                          /* openapi.c */
api_handler api_export;                           /* api_export.c */
