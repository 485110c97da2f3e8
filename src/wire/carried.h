/* wire/carried.h - names of the attributes that carry data for which OTLP has no field.
 * docs/attributes.md describes who writes them.  The comments state the owner of the attribute and
 * its type, if it is not a string.  Each name appears only here. */
#pragma once

/* Semantic conventions. */
#define ATTR_FRAME_TYPE "profile.frame.type"                             /* location */
#define ATTR_THREAD_ID "thread.id"                                       /* sample, int */
#define ATTR_THREAD_NAME "thread.name"                                   /* sample */
#define ATTR_THREAD_STATE "thread.state"                                 /* sample */
#define ATTR_CPU "cpu.logical_number"                                    /* sample, int */
#define ATTR_PROCESS_PID "process.pid"                                   /* resource, sample, int */
#define ATTR_CONTAINER_ID "container.id"                                 /* sample */
#define ATTR_HOST_NAME "host.name"                                       /* resource */
#define ATTR_HOST_ARCH "host.arch"                                       /* resource */
#define ATTR_HOST_CPU_MODEL "host.cpu.model.name"                        /* resource */
#define ATTR_OS_TYPE "os.type"                                           /* resource */
#define ATTR_OS_VERSION "os.version"                                     /* resource */
#define ATTR_BUILD_ID_GNU "process.executable.build_id.gnu"              /* mapping */
#define ATTR_BUILD_ID_GO "process.executable.build_id.go"                /* mapping */
#define ATTR_BUILD_ID_HTLHASH "process.executable.build_id.htlhash"      /* mapping */
#define PPROF_ATTR_SAMPLE_TYPE_ORDER "pprof.scope.sample_type_order"     /* scope, int[] */
#define PPROF_ATTR_DEFAULT_SAMPLE_TYPE "pprof.scope.default_sample_type" /* scope */
#define PPROF_ATTR_COMMENT "pprof.profile.comment"                       /* profile, string[] */
#define PPROF_ATTR_DOC_URL "pprof.profile.doc_url"                       /* profile */
#define PPROF_ATTR_DROP_FRAMES "pprof.profile.drop_frames"               /* profile */
#define PPROF_ATTR_KEEP_FRAMES "pprof.profile.keep_frames"               /* profile */
#define PPROF_ATTR_HAS_FUNCTIONS "pprof.mapping.has_functions"           /* mapping, bool */
#define PPROF_ATTR_HAS_FILENAMES "pprof.mapping.has_filenames"           /* mapping, bool */
#define PPROF_ATTR_HAS_LINE_NUMBERS "pprof.mapping.has_line_numbers"     /* mapping, bool */
#define PPROF_ATTR_HAS_INLINE_FRAMES "pprof.mapping.has_inline_frames"   /* mapping, bool */
#define PPROF_ATTR_IS_FOLDED "pprof.location.is_folded"                  /* location, bool */

/* Kiln's own names. */
#define KILN_ATTR_AGGREGATION_TEMPORALITY "kiln.aggregation_temporality" /* profile */
#define KILN_ATTR_SUM_SAMPLES "kiln.sum.samples"                         /* profile, int */
#define KILN_ATTR_SUM_OBSERVATIONS "kiln.sum.observations"               /* profile, int */
#define KILN_ATTR_SUM_ABSOLUTE "kiln.sum.absolute"                       /* profile, int */
#define KILN_ATTR_SUM_SQUARES "kiln.sum.squares"                         /* profile, double */
#define KILN_ATTR_SAMPLE_TYPE_ORDER "kiln.sample_type_order"             /* profile, int[] */
#define KILN_ATTR_DEFAULT_SAMPLE_TYPE "kiln.default_sample_type"         /* profile */
#define KILN_ATTR_TIMESTAMP_UNIT "kiln.timestamp_unit"                   /* profile */
#define KILN_ATTR_TIMESTAMP_VALUES "kiln.timestamp_values"               /* profile */
#define KILN_ATTR_STACK_ID "kiln.stack_id"                               /* sample */
#define KILN_ATTR_BUILD_ID_HASH "kiln.build_id.hash"                     /* mapping */
#define KILN_ATTR_BUILD_ID_KIND "kiln.build_id_kind"                     /* mapping */
#define KILN_ATTR_BUILD_ID_BREAKPAD "kiln.build_id.breakpad"             /* mapping */
#define KILN_ATTR_TIME_EPOCH "kiln.time.epoch"                           /* profile */
#define KILN_ATTR_TIME_OFFSET "kiln.time.offset"                         /* profile, int, ns */
#define KILN_ATTR_TIME_DATE "kiln.time.date"                             /* profile, int, Unix ns */
#define KILN_ATTR_DROPPED_ATTRIBUTES "kiln.dropped_attributes"           /* sample, int */
#define KILN_ATTR_EVENT_INTERVAL "kiln.event.interval"                   /* profile, bool */
#define KILN_ATTR_EVENT_CATEGORY "kiln.event.category"                   /* location */
#define KILN_ATTR_EVENT_ARGS "kiln.event.args"                           /* sample */
#define KILN_ATTR_EVENT_ID "kiln.event.id"                               /* sample */
#define KILN_ATTR_PROFILE_NAME "kiln.profile.name"                       /* profile */
#define KILN_ATTR_UNIT "kiln.unit"                                       /* profile */
#define KILN_ATTR_DOCUMENT_NAME "kiln.document.name"                     /* scope */
#define KILN_ATTR_ACTIVE_PROFILE "kiln.active_profile"                   /* scope, int */
#define KILN_ATTR_FRAME_ANNOTATION "kiln.frame.annotation"               /* location */
#define KILN_ATTR_VALUE_SCALE "kiln.value_scale"                         /* profile, int */
#define KILN_ATTR_THREAD_WCHAN "kiln.thread.wchan"                       /* sample */
#define KILN_ATTR_THREAD_STATE "kiln.thread.state"                       /* sample */
#define KILN_ATTR_STACK_TRUNCATED "kiln.stack.truncated"                 /* sample, bool */
#define KILN_ATTR_SAMPLES_LOST "kiln.samples_lost"                       /* profile, int */
#define KILN_ATTR_LOST "kiln.lost."                                      /* profile, int */
#define KILN_ATTR_JFR_EVENT "kiln.jfr.event"                             /* profile */
#define KILN_ATTR_JFR_CLASS "kiln.jfr.class"                             /* sample */
#define KILN_ATTR_JFR_THREAD_ID "kiln.jfr.thread_id"                     /* sample, int */
#define KILN_ATTR_JFR_TRACE_ID "kiln.jfr.trace_id"                       /* sample */
#define KILN_ATTR_JFR_SPAN_ID "kiln.jfr.span_id"                         /* sample */
#define KILN_ATTR_JFR_ROOT_SPAN_ID "kiln.jfr.root_span_id"               /* sample */
#define KILN_ATTR_JFR_SPAN_NAME "kiln.jfr.span_name"                     /* sample */
#define KILN_ATTR_JFR_CONTEXT_ID "kiln.jfr.context_id"                   /* sample */
#define KILN_ATTR_SAMPLE_RATE "kiln.sample_rate"                         /* profile, int */
#define KILN_ATTR_SAMPLE_SIZE "kiln.sample_size"                         /* profile, int */
#define KILN_ATTR_EVENT_CLOCK "kiln.event.clock"                         /* profile, kvlist */
#define KILN_ATTR_EVENT_DEFAULT "kiln.event.default_value"               /* profile, int */
#define KILN_ATTR_EVENT_UNIT "kiln.event.unit"                           /* profile */
#define KILN_ATTR_EVENT_DURATION "kiln.event.duration"                   /* sample, int, ns */
#define KILN_ATTR_PERF_FREQUENCY "kiln.perf.frequency"                   /* profile, int */
#define KILN_ATTR_PERF_COMMAND_LINE "kiln.perf.command_line"             /* scope, string[] */
#define KILN_ATTR_PERF_EMPTY_EVENTS "kiln.perf.empty_events"             /* scope, string[] */
#define KILN_ATTR_OFF_CPU_BOUND "kiln.off_cpu.bound"                     /* sample */
#define KILN_ATTR_OFF_CPU_MIN "kiln.off_cpu.min"                         /* profile, int, ns */
#define KILN_ATTR_OFF_CPU_KEPT "kiln.off_cpu.kept"                       /* profile, int, ns */
#define KILN_ATTR_WAIT_SYSCALL "kiln.wait.syscall"                       /* sample */
#define KILN_ATTR_WAIT_WAKER "kiln.wait.waker"                           /* sample, int */
#define KILN_ATTR_WAIT_WAKER_NAME "kiln.wait.waker_name"                 /* sample */
#define KILN_ATTR_SYMBOL "kiln.symbol"                                   /* location */
#define KILN_ATTR_SPLUNK_BODY "kiln.splunk.body"                         /* profile */
#define KILN_ATTR_SPLUNK_RECORD "kiln.splunk.record"                     /* profile, kvlist */
#define KILN_ATTR_SPLUNK_TIME "kiln.splunk.time"                         /* profile, int */
#define KILN_ATTR_SPLUNK_OBSERVED "kiln.splunk.observed_time"            /* profile, sample, int */
#define KILN_ATTR_SPLUNK_THREAD "kiln.splunk.thread"                     /* sample */
#define KILN_ATTR_SPLUNK_FRAME "kiln.splunk.frame"                       /* location */
