/* server/pyroscope_methods.h - the handlers of Pyroscope's methods, by file. */
#pragma once
#include "server/routes.h"

/* pyroscope_facts.c */
api_handler pyro_get_profile_stats, pyro_version, pyro_nothing, pyro_buildinfo, pyro_analyze;
/* pyroscope_adhoc.c */
api_handler pyro_adhoc_put, pyro_adhoc_draw, pyro_adhoc_all, pyro_adhoc_compare;
/* pyroscope_settings.c */
api_handler pyro_get_settings, pyro_put_setting, pyro_remove_setting;
/* pyroscope_lists.c */
api_handler pyro_profile_types, pyro_get_label_names, pyro_get_label_values, pyro_get_series,
    pyro_render_label_values;
api_handler pyro_select_points;                    /* pyroscope_points.c */
api_handler pyro_merge_stacktraces, pyro_get_diff; /* pyroscope_stacks.c */
api_handler pyro_merge_profile_of;                 /* pyroscope_merge.c */
api_handler pyro_select_heat;                      /* pyroscope_heatmap.c */
api_handler pyro_render, pyro_render_diff;         /* pyroscope_render.c */
