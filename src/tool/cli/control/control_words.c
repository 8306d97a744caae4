/* SPDX-License-Identifier: MIT */
/*
 * Two words: `control` says what holds, `control_resume` what switching on takes up. Stopping
 * writes the second before the first, so that whoever finds sampling off finds there what was on
 * last. An interval given while sampling is off goes to the second alone; should somebody switch on
 * in between, the change is done again on the first.
 */
#include "cli/control/control_words.h"

#define WORD_MASK (BP_CONTROL_INTERVAL_MASK | BP_CONTROL_AUTO)

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool exchange(uint64_t *word, uint64_t expected, uint64_t wanted)
{
	return __atomic_compare_exchange_n(
		word, &expected, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The next word after `word`: its number and one, with `what` in force. */
static uint64_t next(uint64_t word, uint64_t what)
{
	return ((word & ~WORD_MASK) + BP_CONTROL_NUMBER_ONE) | what;
}

static bool is_off(uint64_t word)
{
	return (word & BP_CONTROL_INTERVAL_MASK) == 0;
}

/* Sampling is on: a word out of range is neither on nor off, and every change replaces it. */
static bool is_on(uint64_t word)
{
	const uint64_t interval = word & BP_CONTROL_INTERVAL_MASK;
	return interval >= 1 && interval <= BP_INTERVAL_MAX;
}

/* What switching on takes up. */
static uint64_t resumed(const struct bp_trace_state *state, const struct bp_trace_header *header)
{
	const uint64_t first = header->interval_bytes;
	const uint64_t resume = load(&state->control_resume) & WORD_MASK;
	const uint64_t interval =
		first >= 1 && first <= BP_INTERVAL_MAX ? first : BP_INTERVAL_DEFAULT;
	return is_on(resume) ? resume : interval | (resume & BP_CONTROL_AUTO);
}

/* Is T that of the fine start? Until the first change, whatever it was. */
static bool is_fine_start(const struct bp_trace_header *header, uint64_t word)
{
	return (header->flags_skippable & BP_HEADER_FINE_START) != 0 &&
	       word >> BP_CONTROL_NUMBER_SHIFT == 0;
}

struct bp_control bp_control_read(
	const struct bp_trace_state *state, const struct bp_trace_header *header)
{
	const uint64_t word = load(&state->control);
	const uint64_t held = is_on(word) ? word : resumed(state, header);
	return (struct bp_control){
		.on = is_on(word),
		.automatic = (held & BP_CONTROL_AUTO) != 0,
		.fine_start = is_fine_start(header, word),
		.interval = held & BP_CONTROL_INTERVAL_MASK,
		.number = (uint32_t)(word >> BP_CONTROL_NUMBER_SHIFT),
		.budget_ppm = load(&state->budget_ppm),
	};
}

bool bp_control_start(struct bp_trace_state *state, const struct bp_trace_header *header)
{
	uint64_t word;
	do {
		word = load(&state->control);
		if (is_on(word))
			return false;
	} while (!exchange(&state->control, word, next(word, resumed(state, header))));
	return true;
}

bool bp_control_stop(struct bp_trace_state *state)
{
	uint64_t word;
	do {
		word = load(&state->control);
		if (is_off(word))
			return false;
		if (is_on(word))
			__atomic_store_n(
				&state->control_resume, word & WORD_MASK, __ATOMIC_RELEASE);
	} while (!exchange(&state->control, word, next(word, 0)));
	return true;
}

/* Puts `what` in force, or while off where it is taken up from. */
static bool put(struct bp_trace_state *state, const struct bp_trace_header *header, uint64_t what)
{
	for (;;) {
		const uint64_t word = load(&state->control);
		if (!is_off(word)) {
			if ((word & WORD_MASK) == what && !is_fine_start(header, word))
				return false;
			if (exchange(&state->control, word, next(word, what)))
				return true;
			continue;
		}
		const uint64_t resume = load(&state->control_resume);
		if (!exchange(&state->control_resume, resume, what))
			continue;
		if (load(&state->control) == word)
			return (resume & WORD_MASK) != what;
	}
}

bool bp_control_set_interval(
	struct bp_trace_state *state, const struct bp_trace_header *header, uint64_t interval)
{
	return put(state, header, interval);
}

bool bp_control_set_automatic(
	struct bp_trace_state *state, const struct bp_trace_header *header, uint64_t budget_ppm)
{
	bool changed = false;
	if (budget_ppm != 0 && load(&state->budget_ppm) != budget_ppm) {
		__atomic_store_n(&state->budget_ppm, budget_ppm, __ATOMIC_RELEASE);
		changed = true;
	}
	const uint64_t word = load(&state->control);
	const uint64_t held = is_on(word) ? word & WORD_MASK : resumed(state, header);
	const uint64_t interval = held & BP_CONTROL_INTERVAL_MASK;
	const uint64_t wanted = interval < BP_INTERVAL_FINEST ? BP_INTERVAL_FINEST : interval;
	return put(state, header, wanted | BP_CONTROL_AUTO) || changed;
}

bool bp_control_is_followed(const struct bp_trace_state *state, uint16_t command)
{
	return (uint16_t)(load(&state->control) >> BP_CONTROL_NUMBER_SHIFT) == command;
}
