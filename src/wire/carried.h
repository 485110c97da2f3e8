/* wire/carried.h - names of the attributes that carry what OTLP has no field for.  docs/attributes.md
 * says where each one sits, its type and where it comes from; every name is written once, here. */
#pragma once

/* Semantic conventions. */
#define ATTR_FRAME_TYPE "profile.frame.type"                            /* location */
#define ATTR_BUILD_ID_GNU "process.executable.build_id.gnu"             /* mapping */
#define ATTR_BUILD_ID_GO "process.executable.build_id.go"               /* mapping */
#define ATTR_BUILD_ID_HTLHASH "process.executable.build_id.htlhash"     /* mapping */
#define PPROF_ATTR_SAMPLE_TYPE_ORDER "pprof.scope.sample_type_order"    /* scope, int[] */
#define PPROF_ATTR_DEFAULT_SAMPLE_TYPE "pprof.scope.default_sample_type" /* scope */
#define PPROF_ATTR_COMMENT "pprof.profile.comment"                      /* profile, string[] */
#define PPROF_ATTR_DOC_URL "pprof.profile.doc_url"                      /* profile */
#define PPROF_ATTR_DROP_FRAMES "pprof.profile.drop_frames"              /* profile */
#define PPROF_ATTR_KEEP_FRAMES "pprof.profile.keep_frames"              /* profile */
#define PPROF_ATTR_HAS_FUNCTIONS "pprof.mapping.has_functions"          /* mapping, bool */
#define PPROF_ATTR_HAS_FILENAMES "pprof.mapping.has_filenames"          /* mapping, bool */
#define PPROF_ATTR_HAS_LINE_NUMBERS "pprof.mapping.has_line_numbers"    /* mapping, bool */
#define PPROF_ATTR_HAS_INLINE_FRAMES "pprof.mapping.has_inline_frames"  /* mapping, bool */
#define PPROF_ATTR_IS_FOLDED "pprof.location.is_folded"                 /* location, bool */

/* Ours. */
#define KILN_ATTR_AGGREGATION_TEMPORALITY "kiln.aggregation_temporality" /* profile */
#define KILN_ATTR_SAMPLE_TYPE_ORDER "kiln.sample_type_order"             /* profile, int[] */
#define KILN_ATTR_DEFAULT_SAMPLE_TYPE "kiln.default_sample_type"         /* profile */
#define KILN_ATTR_TIMESTAMP_UNIT "kiln.timestamp_unit"                   /* profile */
#define KILN_ATTR_TIMESTAMP_VALUES "kiln.timestamp_values"               /* profile */
#define KILN_ATTR_STACK_ID "kiln.stack_id"                               /* sample */
#define KILN_ATTR_BUILD_ID_HASH "kiln.build_id.hash"                     /* mapping */
#define KILN_ATTR_BUILD_ID_KIND "kiln.build_id_kind"                     /* mapping */
