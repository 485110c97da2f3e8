/* wire/thread_state.h - states of threads: the words of the event proposal (running, unscheduled, sleeping, mutex) and ours, which
 * are those of /proc/PID/stat.  Pure. */
#pragma once
#include "base/str.h"

/* thread.state of one of our words: "running" of RUNNING; the word itself where the proposal has none (STOPPED). */
str thread_state_word(str ours);
/* Does that word say less?  Then ours goes into kiln.thread.state: DISK_SLEEP is one kind of sleeping. */
bool thread_state_has_detail(str ours);
/* Back: RUNNING of "running".  `detail`: kiln.thread.state, used where it is ours; may be empty. */
str thread_state_ours(str word, str detail);
