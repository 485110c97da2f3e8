/* agent/resource.h - the attributes of the OTLP resource: which program is profiled. */
#pragma once
#include "agent/config.h"
#include "model/model.h"

/* Facts about the machine; tests provide their own. */
typedef struct resource_facts {
    str program;       /* path of the executable; "": not known */
    str host, machine; /* gethostname, uname -m */
    str cgroup;        /* text of /proc/self/cgroup and /proc/self/mountinfo */
    uint32_t pid;
    uint8_t instance[16]; /* random: becomes service.instance.id */
} resource_facts;

NODISCARD bool resource_facts_read(arena *a, resource_facts *out);

/* Builds the attributes in `a`.  Attributes that the program published (`published`, OTEP 4719; may
 * be NULL) take precedence over the environment, and the environment over detected ones.  The agent
 * always sets the keys that describe the SDK. */
NODISCARD bool resource_make(const agent_config *c, const resource_facts *f,
                             const keyvalues *published, arena *a, keyvalues *out);
