/* SPDX-License-Identifier: MIT */
/*
 * Control (docs/trace-format.md 1.8): which interval T the process samples at, or none, and who
 * may change that. One word in the state page of the trace says it. It is changed by compare and
 * exchange: from outside by whoever may write the file, and in here by a time that has come, by
 * the budget (budget.h) and where a table is nearly full. Nobody is told: each thread compares the
 * word with the one it follows whenever one of its charges borrows, and follows it from the next
 * object on. So a thread that does not allocate does not follow; one that does follows after at
 * most BP_SAMPLER_LOOK_MAX trials of its own.
 *
 * While the file cannot grow (trace/writer_outage.c) threads follow the word as if it said that sampling
 * is off; the word itself stays as it is, and may be changed meanwhile.
 *
 * A changed word is no privilege: whoever can write it can write the trace. Words out of range are
 * ignored.
 *
 * All of it within a visit, but for the four functions for lifecycle.c. Thread-safe.
 */
#ifndef BP_RECORDER_CONTROL_H
#define BP_RECORDER_CONTROL_H

#include "recorder/config.h"
#include "recorder/predecessor.h"
#include "recorder/recorder.h"
#include "recorder/visit.h"

struct bp_control {
	uint64_t first;	 /* the word that this trace began with; its number is 0 */
	uint64_t given;	 /* interval and automatic bit from the environment */
	uint64_t resume; /* what the state page's control_resume begins with */
	uint64_t budget_ppm;
	bool steered;	 /* the trace began in another state than the environment says */
	bool fine_start; /* until somebody steers, T is that of fine_start.h, not the word's */
	uint64_t first_interval; /* T of the header; 0: sampling was off */
	uint64_t valid;	 /* the newest word that was in range */
	uint64_t due_ns; /* the earlier of the two times below; UINT64_MAX: none to come */
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC; UINT64_MAX: none, or past. Under the lock */
	struct bp_lock lock;
};
extern struct bp_control bp_control __attribute__((visibility("hidden")));

/* T that a word asks for; 0: sampling is off. */
static inline uint64_t bp_control_interval(uint64_t word)
{
	return word & BP_CONTROL_INTERVAL_MASK;
}

static inline uint64_t bp_control_number(uint64_t word)
{
	return word >> BP_CONTROL_NUMBER_SHIFT;
}

/* For lifecycle.c. Once at start: the first word from the environment. `config` is not kept. */
void bp_control_configure(const struct bp_config *config);
/* After it: a new image begins as the one before it was, or its parent is, if that was changed. With the
 * automatic interval, which each image finds for itself, that stays as the environment says. */
void bp_control_take_over(const struct bp_config *config, const struct bp_predecessor *predecessor);
/* In a child: as its parent is at this moment. `parent`: the parent's state page. */
void bp_control_inherit(const struct bp_trace_state *parent);
/* What the header says of the first word. */
void bp_control_describe(struct bp_trace_header *header);
/* The words into the state page of the new trace. */
void bp_control_publish(struct bp_trace_state *state);

/* For thread.c. The word a new thread follows, and its interval; then, when its slot is taken and
 * its begin is written, the record that it needs if that is not the trace's first one. */
uint64_t bp_control_word(void);
/* T that a word stands for at this moment; 0: sampling is off. */
uint64_t bp_control_interval_now(uint64_t word);
/* The thread follows the word from here on. Its sampler is the caller's to tell. */
void bp_control_adopt(struct bp_thread *thread, uint64_t word);
void bp_control_note_begin(struct bp_thread *thread);

/* The slow halves of what follows. `word` while there is an outage, unless that is over now. */
uint64_t bp_control_in_outage(uint64_t word);
bool bp_control_follow(struct bp_thread *thread, uint64_t word);
bool bp_control_step(struct bp_thread *thread);
void bp_control_time_has_come(void);
void bp_control_note(const struct bp_visit *visit);

/* For a charged call, before the sampler decides: compares the word with the one the thread
 * follows, or takes a step of the fine start, and hands a new interval to the sampler. True: bp_control_note is due, after the
 * decision is carried out. */
static inline bool bp_control_look(struct bp_visit *visit)
{
	if (bp_unlikely(bp_control.due_ns != UINT64_MAX))
		bp_control_time_has_come();
	uint64_t word =
		__atomic_load_n(&bp_writer_state(&bp_recorder.writer)->control, __ATOMIC_RELAXED);
	if (bp_unlikely(bp_writer_outage_since(&bp_recorder.writer) != 0))
		word = bp_control_in_outage(word);
	if (bp_unlikely(word != visit->thread->control))
		return bp_control_follow(visit->thread, word);
	return bp_unlikely(visit->thread->fine) && bp_control_step(visit->thread);
}

/* For the program itself, as from outside: sampling on or off; T, where sampling is off the one that
 * switching on takes up. False: it was so already. */
bool bp_control_switch(bool on);
bool bp_control_set(uint64_t interval);

/* Changes the word from `word` to one of `interval` (0: off) and the same automatic bit; false if
 * somebody else changed it first, or nothing was to change. */
bool bp_control_change(uint64_t word, uint64_t interval);

#endif
