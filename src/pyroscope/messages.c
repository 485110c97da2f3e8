/* The tables of messages.h.  tests/e2e/pyroscope_proto compares them with protoc's descriptors. */
#include "pyroscope/messages.h"

#include "format/pprof.h"
#include "wire/schema_macros.h"

#include "base/ban.h"

/* A table that other files use. */
#define SHARED(id, text, ...)                                                                      \
    static const field_desc id##_fields[] = {__VA_ARGS__};                                         \
    const message_desc id = {text, id##_fields, (uint8_t)ARRAY_LEN(id##_fields), MESSAGE_OTHER}
#define WHY S(PYRO_PARTIAL, STRING, "kiln_partial")

/* ---- types.v1 ---- */

MESSAGE(label_pair, "LabelPair", S(1, STRING, "name"), S(2, STRING, "value"));
MESSAGE(labels, "Labels", R(1, "labels", label_pair));
MESSAGE(profile_type, "ProfileType", S(1, STRING, "ID"), S(2, STRING, "name"),
        S(4, STRING, "sample_type"), S(5, STRING, "sample_unit"), S(6, STRING, "period_type"),
        S(7, STRING, "period_unit"));
MESSAGE(annotation, "ProfileAnnotation", S(1, STRING, "key"), S(2, STRING, "value"));
MESSAGE(exemplar, "Exemplar", S(1, INT64, "timestamp"), S(2, STRING, "profile_id"),
        S(3, STRING, "span_id"), S(4, INT64, "value"), R(5, "labels", label_pair),
        S(6, STRING, "trace_id"));
MESSAGE(point, "Point", S(1, DOUBLE, "value"), S(2, INT64, "timestamp"),
        R(3, "annotations", annotation), R(4, "exemplars", exemplar));
MESSAGE(series, "Series", R(1, "labels", label_pair), R(2, "points", point));
MESSAGE(call_site, "Location", S(1, STRING, "name"));
MESSAGE(go_pgo, "GoPGO", S(1, UINT32, "keep_locations"), S(2, BOOL, "aggregate_callees"));
MESSAGE(stack_selector, "StackTraceSelector", R(1, "call_site", call_site), M(2, "go_pgo", go_pgo));
MESSAGE(slot, "HeatmapSlot", S(1, INT64, "timestamp"), P(2, DOUBLE, "y_min"), P(3, INT32, "counts"),
        R(4, "exemplars", exemplar));
MESSAGE(heatmap_series, "HeatmapSeries", R(1, "labels", label_pair), R(2, "slots", slot));

static const char *const aggregations[] = {"TIME_SERIES_AGGREGATION_TYPE_SUM",
                                           "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", NULL};
static const char *const exemplar_types[] = {"EXEMPLAR_TYPE_UNSPECIFIED", "EXEMPLAR_TYPE_NONE",
                                             "EXEMPLAR_TYPE_INDIVIDUAL", "EXEMPLAR_TYPE_SPAN",
                                             NULL};
static const char *const profile_formats[] = {
    "PROFILE_FORMAT_UNSPECIFIED", "PROFILE_FORMAT_FLAMEGRAPH", "PROFILE_FORMAT_TREE",
    "PROFILE_FORMAT_DOT",         "PROFILE_FORMAT_PPROF",      NULL};
static const char *const heatmap_types[] = {"HEATMAP_QUERY_TYPE_UNSPECIFIED",
                                            "HEATMAP_QUERY_TYPE_INDIVIDUAL",
                                            "HEATMAP_QUERY_TYPE_SPAN", NULL};

SHARED(pyro_label_values, "LabelValuesRequest", S(1, STRING, "name"), P(2, STRING, "matchers"),
       S(3, INT64, "start"), S(4, INT64, "end"));
SHARED(pyro_label_names, "LabelNamesRequest", P(1, STRING, "matchers"), S(2, INT64, "start"),
       S(3, INT64, "end"));
SHARED(pyro_names_response, "LabelNamesResponse", P(1, STRING, "names"), WHY);
SHARED(pyro_stats_response, "GetProfileStatsResponse", S(1, BOOL, "data_ingested"),
       S(2, INT64, "oldest_profile_time"), S(3, INT64, "newest_profile_time"), WHY);
SHARED(pyro_empty_response, "Empty", WHY);

/* ---- querier.v1 ---- */

SHARED(pyro_time_range, "ProfileTypesRequest", S(1, INT64, "start"), S(2, INT64, "end"));
SHARED(pyro_profile_types_response, "ProfileTypesResponse", R(1, "profile_types", profile_type),
       WHY);
SHARED(pyro_series, "SeriesRequest", P(1, STRING, "matchers"), P(2, STRING, "label_names"),
       S(3, INT64, "start"), S(4, INT64, "end"));
SHARED(pyro_series_response, "SeriesResponse", R(2, "labels_set", labels), WHY);

#define STACKTRACES                                                                                \
    S(1, STRING, "profile_typeID"), S(2, STRING, "label_selector"), S(3, INT64, "start"),          \
        S(4, INT64, "end"), OPT(5, INT64, "max_nodes"), EN(6, "format", profile_formats),          \
        M(7, "stack_trace_selector", stack_selector), P(8, STRING, "profile_id_selector"),         \
        P(10, STRING, "trace_id_selector"), P(11, STRING, "span_selector")
SHARED(pyro_stacktraces, "SelectMergeStacktracesRequest", STACKTRACES);
SHARED(pyro_span_profile, "SelectMergeSpanProfileRequest", S(1, STRING, "profile_typeID"),
       S(2, STRING, "label_selector"), P(3, STRING, "span_selector"), S(4, INT64, "start"),
       S(5, INT64, "end"), OPT(6, INT64, "max_nodes"), EN(7, "format", profile_formats));
SHARED(pyro_merge_profile, "SelectMergeProfileRequest", S(1, STRING, "profile_typeID"),
       S(2, STRING, "label_selector"), S(3, INT64, "start"), S(4, INT64, "end"),
       OPT(5, INT64, "max_nodes"), M(6, "stack_trace_selector", stack_selector),
       P(7, STRING, "profile_id_selector"), P(8, STRING, "trace_id_selector"));
SHARED(pyro_select_series, "SelectSeriesRequest", S(1, STRING, "profile_typeID"),
       S(2, STRING, "label_selector"), S(3, INT64, "start"), S(4, INT64, "end"),
       P(5, STRING, "group_by"), S(6, DOUBLE, "step"), EN(7, "aggregation", aggregations),
       M(8, "stack_trace_selector", stack_selector), OPT(9, INT64, "limit"),
       EN(10, "exemplar_type", exemplar_types));
SHARED(pyro_select_series_response, "SelectSeriesResponse", R(1, "series", series), WHY);
SHARED(pyro_select_heatmap, "SelectHeatmapRequest", S(1, STRING, "profile_typeID"),
       S(2, STRING, "label_selector"), S(3, INT64, "start"), S(4, INT64, "end"),
       S(5, DOUBLE, "step"), P(6, STRING, "group_by"), EN(7, "query_type", heatmap_types),
       EN(8, "exemplar_type", exemplar_types), OPT(9, INT64, "limit"));
SHARED(pyro_heatmap_response, "SelectHeatmapResponse", R(1, "series", heatmap_series), WHY);
SHARED(pyro_diff, "DiffRequest", M(1, "left", pyro_stacktraces), M(2, "right", pyro_stacktraces));
SHARED(pyro_analyze_query, "AnalyzeQueryRequest", S(2, INT64, "start"), S(3, INT64, "end"),
       S(4, STRING, "query"));

MESSAGE(level, "Level", P(1, INT64, "values"));
MESSAGE(flame_graph, "FlameGraph", P(1, STRING, "names"), R(2, "levels", level),
        S(3, INT64, "total"), S(4, INT64, "max_self"));
MESSAGE(flame_graph_diff, "FlameGraphDiff", P(1, STRING, "names"), R(2, "levels", level),
        S(3, INT64, "total"), S(4, INT64, "max_self"), S(5, INT64, "leftTicks"),
        S(6, INT64, "rightTicks"));
SHARED(pyro_diff_response, "DiffResponse", M(1, "flamegraph", flame_graph_diff), WHY);
MESSAGE(query_scope, "QueryScope", S(1, STRING, "component_type"), S(2, UINT64, "component_count"),
        S(3, UINT64, "block_count"), S(4, UINT64, "series_count"), S(5, UINT64, "profile_count"),
        S(6, UINT64, "sample_count"), S(7, UINT64, "index_bytes"), S(8, UINT64, "profile_bytes"),
        S(9, UINT64, "symbol_bytes"));
MESSAGE(query_impact, "QueryImpact", S(2, UINT64, "total_bytes_in_time_range"),
        S(3, UINT64, "total_queried_series"), S(4, BOOL, "deduplication_needed"));
SHARED(pyro_analyze_response, "AnalyzeQueryResponse", R(1, "query_scopes", query_scope),
       M(2, "query_impact", query_impact), WHY);

MESSAGE(pprof_result, "PprofResult", M(1, "profile", pprof_profile));
SHARED(pyro_stacktraces_response, "SelectMergeStacktracesResponse", M(1, "flamegraph", flame_graph),
       S(2, BYTES, "tree"), S(3, STRING, "dot"), M(5, "pprof", pprof_result), WHY);

/* ---- settings, ad hoc profiles, version, health ---- */

MESSAGE(setting, "Setting", S(1, STRING, "name"), S(2, STRING, "value"), S(3, INT64, "modifiedAt"));
SHARED(pyro_set_setting, "SetSettingsRequest", M(1, "setting", setting));
SHARED(pyro_delete_setting, "DeleteSettingsRequest", S(1, STRING, "name"));
SHARED(pyro_settings_response, "GetSettingsResponse", R(1, "settings", setting));
SHARED(pyro_setting_response, "SetSettingsResponse", M(1, "setting", setting));

SHARED(pyro_adhoc_upload, "AdHocProfilesUploadRequest", S(1, STRING, "name"),
       S(2, STRING, "profile"), OPT(3, INT64, "max_nodes"));
SHARED(pyro_adhoc_get, "AdHocProfilesGetRequest", S(1, STRING, "id"), S(2, STRING, "profile_type"),
       OPT(3, INT64, "max_nodes"));
SHARED(pyro_adhoc_diff, "AdHocProfilesDiffRequest", S(1, STRING, "left_id"),
       S(2, STRING, "right_id"), S(3, STRING, "profile_type"), OPT(4, INT64, "max_nodes"));
SHARED(pyro_adhoc_response, "AdHocProfilesGetResponse", S(1, STRING, "id"), S(2, STRING, "name"),
       S(3, INT64, "uploaded_at"), S(4, STRING, "profile_type"), P(5, STRING, "profile_types"),
       S(6, STRING, "flamebearer_profile"));
MESSAGE(adhoc_entry, "AdHocProfilesProfileMetadata", S(1, STRING, "id"), S(2, STRING, "name"),
        S(3, INT64, "uploaded_at"));
SHARED(pyro_adhoc_list_response, "AdHocProfilesListResponse", R(1, "profiles", adhoc_entry));
SHARED(pyro_adhoc_diff_response, "AdHocProfilesDiffResponse", P(1, STRING, "profile_types"),
       S(2, STRING, "flamebearer_profile"));

SHARED(pyro_version_response, "VersionResponse", S(1, UINT64, "QuerierAPI"));
static const char *const serving[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN", NULL};
SHARED(pyro_health_check, "HealthCheckRequest", S(1, STRING, "service"));
SHARED(pyro_health_response, "HealthCheckResponse", EN(1, "status", serving));

/* ---- push.v1 ---- */

MESSAGE(raw_sample, "RawSample", S(1, BYTES, "raw_profile"), S(2, STRING, "ID"));
MESSAGE(raw_series, "RawProfileSeries", R(1, "labels", label_pair), R(2, "samples", raw_sample),
        R(3, "annotations", annotation));
SHARED(pyro_push, "PushRequest", R(1, "series", raw_series));
