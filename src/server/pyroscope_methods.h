/* server/pyroscope_methods.h - the handlers of Pyroscope's methods, by file. */
#pragma once
#include "server/routes.h"

api_handler pyro_get_profile_stats, pyro_version, pyro_nothing,
    pyro_buildinfo; /* pyroscope_facts.c */
