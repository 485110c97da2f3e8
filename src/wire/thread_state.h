/* wire/thread_state.h - converts thread states between the names of the event proposal (running,
 * unscheduled, sleeping, mutex) and Kiln's names, which follow /proc/PID/stat.  Pure. */
#pragma once
#include "base/str.h"

/* Returns the proposal's name of a Kiln state: "running" for RUNNING.  Returns the Kiln state
 * itself if the proposal has no name for it (STOPPED). */
str thread_state_word(str ours);
/* Returns whether the proposal's name is less specific, as for DISK_SLEEP, which is one kind of
 * sleeping. kiln.thread.state then stores the Kiln state. */
bool thread_state_has_detail(str ours);
/* Returns the Kiln state for a proposal's name: RUNNING for "running".  `detail`, the value of
 * kiln.thread.state, is used instead if it is a Kiln state; it may be empty. */
str thread_state_ours(str word, str detail);
