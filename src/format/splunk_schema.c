/* The messages of OTLP logs as tables, for the JSON reader. */
#include "format/splunk.h"
#include "wire/schema_macros.h"

#include "base/ban.h"

static const message_desc any_value;

MESSAGE(key_value, "KeyValue", S(1, STRING, "key"), M(2, "value", any_value));
MESSAGE(array_value, "ArrayValue", R(1, "values", any_value));
MESSAGE(kvlist_value, "KeyValueList", R(1, "values", key_value));
MESSAGE(any_value, "AnyValue", O(1, STRING, "string_value"), O(2, BOOL, "bool_value"),
        O(3, INT64, "int_value"), O(4, DOUBLE, "double_value"), MO(5, "array_value", array_value),
        MO(6, "kvlist_value", kvlist_value), O(7, BYTES, "bytes_value"));
MESSAGE(entity_ref_desc, "EntityRef", S(1, STRING, "schema_url"), S(2, STRING, "type"),
        P(3, STRING, "id_keys"), P(4, STRING, "description_keys"));
MESSAGE(resource_desc, "Resource", R(1, "attributes", key_value),
        S(2, UINT32, "dropped_attributes_count"), R(3, "entity_refs", entity_ref_desc));
MESSAGE(scope_desc, "InstrumentationScope", S(1, STRING, "name"), S(2, STRING, "version"),
        R(3, "attributes", key_value), S(4, UINT32, "dropped_attributes_count"));
MESSAGE(log_record, "LogRecord", S(1, FIXED64, "time_unix_nano"), S(2, ENUM, "severity_number"),
        S(3, STRING, "severity_text"), S(4, STRING, "name"), M(5, "body", any_value),
        R(6, "attributes", key_value), S(7, UINT32, "dropped_attributes_count"),
        S(8, UINT32, "flags"), S(9, STRING, "trace_id"), S(10, STRING, "span_id"),
        S(11, FIXED64, "observed_time_unix_nano"), S(12, STRING, "event_name"));
MESSAGE(scope_logs, "ScopeLogs", M(1, "scope", scope_desc), BIG(2, "log_records", log_record),
        S(3, STRING, "schema_url"));
MESSAGE(resource_logs, "ResourceLogs", M(1, "resource", resource_desc),
        BIG(2, "scope_logs", scope_logs), S(3, STRING, "schema_url"),
        BIG(1000, "instrumentation_library_logs", scope_logs));
MESSAGE(logs_data, "LogsData", BIG(1, "resource_logs", resource_logs));

const message_desc *splunk_logs_schema(void) { return &logs_data; }
