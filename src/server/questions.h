/* server/questions.h - the questions, by file. */
#pragma once
#include "server/routes.h"

ask_fn api_labels, api_series, api_profiles; /* api_lists.c */
ask_fn api_profile, api_original;            /* api_profile.c */
ask_fn api_spans;                            /* api_spans.c */
ask_fn api_store;                            /* api_store.c */
ask_fn api_tree, api_top;                    /* api_graph.c */
ask_fn api_diff;                             /* api_diff.c */
ask_fn api_counts;                           /* api_time.c */
ask_fn api_heat;                             /* api_heat.c */
ask_fn api_lanes, api_chart;                 /* api_lanes.c */
ask_fn api_openapi;                          /* openapi.c */
ask_fn api_export;                           /* api_export.c */
