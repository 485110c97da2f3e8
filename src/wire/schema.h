/* wire/schema.h - the messages of every layout as tables: number, name, type, target.
 *
 * The hot decoder does not use them.  Layout detection, the location of errors, OTLP/JSON in both
 * directions, `kiln cat` and the checks do.  A test compares the tables with protoc's descriptors
 * (tests/vectors/proto). */
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
    FF_REPEATED = 1,         /* scalars: packed on the wire, unpacked accepted */
    FF_ONEOF = 2,            /* encoded even at its default; the last member counts */
    FF_OPTIONAL = 4,         /* has presence: an explicit 0 is not "absent" */
    FF_ID = 8,               /* bytes: none or 16; hex in JSON */
    FF_SHORT_ID = 16,        /* with FF_ID: none or 8 bytes */
    FF_LARGE = 32,           /* message: usually kilobytes (dictionary, profiles) */
    FF_PAYLOAD = 64,         /* bytes: the original payload of a profile */
    FF_PAYLOAD_FORMAT = 128, /* string: the format of the payload; both are set or neither */
};

/* The table that an index refers to. */
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
    /* FT_ENUM: the names that JSON may have instead of numbers, by number, ending with NULL; NULL:
     * only numbers, as in OTLP */
    const char *const *enum_names;
} field_desc;

/* Messages that detection treats specially. */
typedef enum message_kind { MESSAGE_OTHER, MESSAGE_PROFILE, MESSAGE_SAMPLE } message_kind;

struct message_desc {
    const char *name;
    const field_desc *fields; /* ascending numbers */
    uint8_t n_fields;
    uint8_t kind; /* message_kind */
};

/* ProfilesData (= ExportProfilesServiceRequest) of a layout; NULL for LAYOUT_UNKNOWN. */
const message_desc *schema_profiles_data(layout l);
/* ExportProfilesServiceResponse: the same in all layouts. */
const message_desc *schema_export_response(void);

const field_desc *message_field(const message_desc *m, uint32_t number);    /* NULL: unknown */
const field_desc *message_field_named(const message_desc *m, str name);     /* snake_case */
const field_desc *message_field_json(const message_desc *m, str json_name); /* lowerCamelCase */

/* Writes the lowerCamelCase name of a field to out (terminated; 48 bytes are enough); returns its
 * length. */
size_t field_json_name(const field_desc *f, char *out, size_t n);

/* Wire type of one unpacked element: 0 varint, 1 fixed64, 2 length-delimited. */
unsigned field_wire_type(const field_desc *f);
/* Size of an id that is set, in bytes. */
static inline unsigned field_id_size(const field_desc *f)
{
    return f->flags & FF_SHORT_ID ? 8 : 16;
}
static inline bool field_packable(const field_desc *f)
{
    return (f->flags & FF_REPEATED) && f->type < FT_STRING;
}
