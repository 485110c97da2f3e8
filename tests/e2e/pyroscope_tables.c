/* pyroscope_tables.c - prints the tables of pyroscope/messages.h as lines, for tests/e2e/pyroscope_proto:
 *
 *   message number name type label message-of-the-field names-of-the-enum      ("-" for none)
 *
 * label is one, repeated or optional. */
#include "format/pprof.h"
#include "pyroscope/messages.h"

#include <stdio.h>
#include <string.h>

/* The tables of requests and responses, with protoc's names. */
static const struct {
    const char *name;
    const message_desc *table;
} roots[] = {
    {"querier.v1.ProfileTypesRequest", &pyro_time_range},
    {"querier.v1.ProfileTypesResponse", &pyro_profile_types_response},
    {"types.v1.LabelNamesRequest", &pyro_label_names},
    {"types.v1.LabelNamesResponse", &pyro_names_response},
    {"types.v1.LabelValuesRequest", &pyro_label_values},
    {"types.v1.LabelValuesResponse", &pyro_names_response},
    {"querier.v1.SeriesRequest", &pyro_series},
    {"querier.v1.SeriesResponse", &pyro_series_response},
    {"querier.v1.SelectSeriesRequest", &pyro_select_series},
    {"querier.v1.SelectSeriesResponse", &pyro_select_series_response},
    {"querier.v1.SelectHeatmapRequest", &pyro_select_heatmap},
    {"querier.v1.SelectHeatmapResponse", &pyro_heatmap_response},
    {"querier.v1.SelectMergeStacktracesRequest", &pyro_stacktraces},
    {"querier.v1.SelectMergeStacktracesResponse", &pyro_stacktraces_response},
    {"querier.v1.SelectMergeSpanProfileRequest", &pyro_span_profile},
    {"querier.v1.SelectMergeProfileRequest", &pyro_merge_profile},
    {"google.v1.Profile", &pprof_profile},
    {"querier.v1.DiffRequest", &pyro_diff},
    {"querier.v1.DiffResponse", &pyro_diff_response},
    {"types.v1.GetProfileStatsResponse", &pyro_stats_response},
    {"querier.v1.AnalyzeQueryRequest", &pyro_analyze_query},
    {"querier.v1.AnalyzeQueryResponse", &pyro_analyze_response},
    {"settings.v1.SetSettingsRequest", &pyro_set_setting},
    {"settings.v1.SetSettingsResponse", &pyro_setting_response},
    {"settings.v1.GetSettingsResponse", &pyro_settings_response},
    {"settings.v1.DeleteSettingsRequest", &pyro_delete_setting},
    {"adhocprofiles.v1.AdHocProfilesUploadRequest", &pyro_adhoc_upload},
    {"adhocprofiles.v1.AdHocProfilesGetRequest", &pyro_adhoc_get},
    {"adhocprofiles.v1.AdHocProfilesGetResponse", &pyro_adhoc_response},
    {"adhocprofiles.v1.AdHocProfilesListResponse", &pyro_adhoc_list_response},
    {"adhocprofiles.v1.AdHocProfilesDiffRequest", &pyro_adhoc_diff},
    {"adhocprofiles.v1.AdHocProfilesDiffResponse", &pyro_adhoc_diff_response},
    {"version.v1.VersionResponse", &pyro_version_response},
    {"grpc.health.v1.HealthCheckRequest", &pyro_health_check},
    {"grpc.health.v1.HealthCheckResponse", &pyro_health_response},
    {"push.v1.PushRequest", &pyro_push},
};

static const char *const types[] = {"int32",   "int64",  "uint32", "uint64", "bool",   "enum",
                                    "fixed64", "double", "string", "bytes",  "message"};

/* The path of a nested message is that of its fields: querier.v1.DiffRequest.left. */
static void dump(const char *path, const message_desc *m)
{
    for (size_t i = 0; i < m->n_fields; i++) {
        const field_desc *f = &m->fields[i];
        const char *label = f->flags & FF_REPEATED   ? "repeated"
                            : f->flags & FF_OPTIONAL ? "optional"
                                                     : "one";
        printf("%s %u %s %s %s %s ", path, f->number, f->name, types[f->type], label,
               f->message ? f->message->name : "-");
        for (size_t k = 0; f->enum_names && f->enum_names[k]; k++)
            printf("%s%s", k ? "," : "", f->enum_names[k]);
        puts(f->enum_names ? "" : "-");
        if (!f->message) continue;
        char below[512];
        snprintf(below, sizeof below, "%s.%s", path, f->name);
        dump(below, f->message);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) dump(roots[i].name, roots[i].table);
    return 0;
}
