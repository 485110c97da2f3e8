/* pyroscope/messages.h - the messages of Pyroscope's query services as tables (wire/schema.h).
 *
 * Requests in JSON become protobuf by these tables, and responses in protobuf become JSON.  Names
 * and numbers are those of docs/grafana.md.  A message without fields has no table: NULL. */
#pragma once
#include "wire/schema.h"

/* Every response of ours may carry the reason why it is partial in this field.  Clients ignore it
 * as unknown. */
enum { PYRO_PARTIAL = 15999 };

extern const message_desc pyro_time_range, pyro_label_names, pyro_label_values, pyro_series,
    pyro_select_series, pyro_select_heatmap, pyro_stacktraces, pyro_span_profile,
    pyro_merge_profile, pyro_diff, pyro_analyze_query, pyro_set_setting, pyro_delete_setting,
    pyro_health_check, pyro_adhoc_upload, pyro_adhoc_get, pyro_adhoc_diff, pyro_push;

extern const message_desc pyro_profile_types_response, pyro_names_response, pyro_series_response,
    pyro_select_series_response, pyro_heatmap_response, pyro_stacktraces_response,
    pyro_diff_response, pyro_stats_response, pyro_analyze_response, pyro_settings_response,
    pyro_setting_response, pyro_version_response, pyro_health_response, pyro_adhoc_response,
    pyro_adhoc_list_response, pyro_adhoc_diff_response, pyro_empty_response;
