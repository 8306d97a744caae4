/* SPDX-License-Identifier: MIT */
/*
 * Control (docs/trace-format.md 1.8): the interval T at which the process samples, or whether it
 * samples at all. One word in the state page of the trace, the control word, holds this. The word
 * is changed by compare and exchange: from outside by any process that may write the file; inside
 * the process at a given time, by the budget (budget.h), and where a table is nearly full. Threads
 * are not notified. Each thread compares the word with the one that it follows whenever one of its
 * charges borrows, and follows the new word from the next object on. So a thread that does not
 * allocate does not follow; a thread that allocates follows after at most BP_SAMPLER_LOOK_MAX
 * trials of its own.
 *
 * While the file cannot grow (trace/writer/writer_outage.c) threads behave as if the word said that
 * sampling is off. The word itself stays, and may be changed during that time.
 *
 * To change the word needs no more rights than to write the trace. Words out of range are ignored.
 *
 * All functions are called within a visit, except those for lifecycle.c. Thread-safe.
 */
#ifndef BP_RECORDER_STEERING_CONTROL_H
#define BP_RECORDER_STEERING_CONTROL_H

#include "recorder/recorder.h"
#include "recorder/visit.h"
#include "start/config.h"
#include "start/predecessor.h"

struct bp_control {
	uint64_t first;	 /* the word that this trace began with; its number is 0 */
	uint64_t given;	 /* interval and automatic bit from the environment */
	uint64_t resume; /* what the state page's control_resume begins with */
	uint64_t budget_ppm;
	bool steered;	 /* the trace began in another state than the environment says */
	bool fine_start; /* until the word is changed, T is that of fine_start.h, not the word's */
	uint64_t first_interval; /* T of the header; 0: sampling was off */
	uint64_t valid;		 /* the newest word that was in range */
	uint64_t due_ns;	 /* the earlier of the two times below; UINT64_MAX: none to come */
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

/* For lifecycle.c. Called once at start: makes the first word from the environment. `config` is not
 * kept. */
void bp_control_configure(const struct bp_config *config);
/* Called after that. If the state of the image before this one, or of the parent, was changed, the
 * new image begins in that state. With the automatic interval, which each image finds for itself, T
 * begins as the environment says. */
void bp_control_take_over(const struct bp_config *config, const struct bp_predecessor *predecessor);
/* Called in a child: it begins in the state that its parent has now. `parent` is the parent's state
 * page. */
void bp_control_inherit(const struct bp_trace_state *parent);
/* Writes into the header what the first word says. */
void bp_control_describe(struct bp_trace_header *header);
/* Writes the words into the state page of the new trace. */
void bp_control_publish(struct bp_trace_state *state);

/* For thread.c. The word that threads have to follow now. */
uint64_t bp_control_word(void);
/* The T that a word stands for at this moment; 0: sampling is off. */
uint64_t bp_control_interval_now(uint64_t word);
/* The thread follows the word from now on. The caller sets the interval of its sampler. */
void bp_control_adopt(struct bp_thread *thread, uint64_t word);
/* Writes an INTERVAL record for a new thread, after its slot was taken and its THREAD BEGIN was
 * written, if its interval is not the trace's first one. */
void bp_control_note_begin(struct bp_thread *thread);

/* The slow halves of bp_control_look. bp_control_in_outage returns the word to follow while there
 * is an outage. */
uint64_t bp_control_in_outage(uint64_t word);
bool bp_control_follow(struct bp_thread *thread, uint64_t word);
bool bp_control_step(struct bp_thread *thread);
void bp_control_time_has_come(void);
void bp_control_note(const struct bp_visit *visit);

/* Called in a charged call, before the sampler decides. Compares the word with the one that the
 * thread follows, or takes a step of the fine start, and passes a new interval to the sampler.
 * True: bp_control_note has to be called after the decision was carried out. */
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

/* For the program itself, with the same effect as from outside: switches sampling on or off; sets T
 * (while sampling is off, the T with which it will be switched on). False: nothing was to
 * change. */
bool bp_control_switch(bool on);
bool bp_control_set(uint64_t interval);

/* Changes the word from `word` to one with `interval` (0: off) and the same automatic bit. False:
 * another thread or process changed it first, or nothing was to change. */
bool bp_control_change(uint64_t word, uint64_t interval);

#endif
