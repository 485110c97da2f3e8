/* The table of thread states (thread_state.h). */
#include "wire/thread_state.h"

#include "base/ban.h"

static const struct {
    const char *ours, *word;
    bool detail;
} states[] = {{"RUNNING", "running", false},
              {"SLEEPING", "sleeping", false},
              {"DISK_SLEEP", "sleeping", true}};

str thread_state_word(str ours)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_eq(ours, str_of(states[i].ours))) return str_of(states[i].word);
    return ours;
}

bool thread_state_has_detail(str ours)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_eq(ours, str_of(states[i].ours))) return states[i].detail;
    return false;
}

str thread_state_ours(str word, str detail)
{
    if (thread_state_has_detail(detail) && str_eq(thread_state_word(detail), word)) return detail;
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_eq(word, str_of(states[i].word))) return str_of(states[i].ours);
    return word;
}
