/* wire/schema.h - the messages of every layout as tables: number, name, type, target.
 *
 * The hot decoder does not read these; everything else does: layout detection, finding the place of
 * an error, OTLP/JSON both ways, `kiln cat`, the ledger's list of what exists.  A test holds the
 * tables to protoc's own descriptors (tests/vectors/proto). */
#pragma once
#include "base/str.h"
#include "wire/layout.h"

typedef enum field_type {
    FT_INT32,
    FT_INT64,
    FT_UINT32,
    FT_UINT64,
    FT_BOOL,
    FT_ENUM,
    FT_FIXED64,
    FT_DOUBLE,
    FT_STRING,
    FT_BYTES,
    FT_MESSAGE,
} field_type;

enum field_flag {
    FF_REPEATED = 1, /* scalars: packed on the wire, unpacked accepted */
    FF_ONEOF = 2,    /* written even at its default; the last one wins */
    FF_OPTIONAL = 4, /* has presence: an explicit 0 is not "absent" */
    FF_ID = 8,       /* bytes: 0 or 16 long (span_id: 0 or 8); hex in JSON */
    FF_LARGE = 16,   /* message: usually kilobytes (dictionary, profiles) */
};

/* The table an index points into. */
typedef enum table_kind {
    TABLE_NONE,
    TABLE_STRING,
    TABLE_MAPPING,
    TABLE_LOCATION,
    TABLE_FUNCTION,
    TABLE_LINK,
    TABLE_ATTRIBUTE,
    TABLE_STACK,
    TABLE_LOCATION_INDEX, /* v1.3-v1.7: Profile.location_indices */
    TABLE_SAMPLE_TYPE,    /* v1.6, v1.7: default_sample_type_index */
    TABLE_COUNT
} table_kind;

typedef struct message_desc message_desc;

typedef struct field_desc {
    uint16_t number;
    uint8_t type;   /* field_type */
    uint8_t flags;  /* field_flag */
    uint8_t target; /* table_kind of an index field, else TABLE_NONE */
    uint8_t fills;  /* table_kind that one element of this repeated field adds an entry to */
    const char *name;
    const message_desc *message; /* FT_MESSAGE */
} field_desc;

struct message_desc {
    const char *name;
    const field_desc *fields; /* ascending numbers */
    uint8_t n_fields;
};

/* ProfilesData (= ExportProfilesServiceRequest) of a layout; NULL for LAYOUT_UNKNOWN. */
const message_desc *schema_profiles_data(layout l);
/* ExportProfilesServiceResponse: the same in all layouts. */
const message_desc *schema_export_response(void);

const field_desc *message_field(const message_desc *m, uint32_t number);    /* NULL: unknown */
const field_desc *message_field_named(const message_desc *m, str name);     /* snake_case */
const field_desc *message_field_json(const message_desc *m, str json_name); /* lowerCamelCase */

/* lowerCamelCase of a field name into out (terminated; long enough is 48); returns its length. */
size_t field_json_name(const field_desc *f, char *out, size_t n);

/* Wire type of one unpacked element: 0 varint, 1 fixed64, 2 length-delimited. */
unsigned field_wire_type(const field_desc *f);
static inline bool field_packable(const field_desc *f)
{
    return (f->flags & FF_REPEATED) && f->type < FT_STRING;
}
