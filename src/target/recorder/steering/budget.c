/* SPDX-License-Identifier: MIT */
/*
 * See budget.h.
 *
 * Time is a leaky bucket. It holds the nanoseconds that sampling may still take: `budget_ppm` of
 * each nanosecond of CPU time of the process flows in, each measured cost flows out, and at most
 * FULL_NS stay in it: a process that did nothing for an hour has no right to an hour's samples at
 * once. It begins with ALLOWANCE_NS, because the first samples of a process are the dearest: 10 us
 * and more while each is of a module or of code that no stack was seen in before, 0.3 to 0.9 us
 * later (measured in sqlite3, python3, cc1, perl, git, node, jq and lua). So a program of 0.1 s
 * gets hundreds of samples.
 *
 *   in debt, and spending faster than the budget (half of it, if the     T doubles
 *   debt is above DEBT_NS)
 *   SPARE_NS left, and spending slower than a quarter of the budget      T halves, not below
 *                                                                        BP_INTERVAL_FINEST
 *
 * After a halving the rate is below half the budget: to double again it must have doubled by
 * itself and have drained the bucket. After a doubling it is above a quarter, if it was above a
 * half. So under a steady load there is no oscillation. At any time
 *
 *   cost <= ALLOWANCE_NS + budget * CPU time + DEBT_NS + what is spent until T has doubled enough,
 *
 * the last at most the cost between two looks for each doubling. A look, a system call, comes when
 * a sixteenth of all that was spent so far has been spent anew, from 64 us to 256 us. For the rate
 * no event counts more than TYPICAL_MAX_NS: it is to say what the next events will cost.
 *
 * A cost is wall time around the work, measured in one of four cases; a clock that counts CPU time
 * alone is a system call. A thread that is put to sleep in between would count its sleep: so no
 * measurement counts more than COST_MAX_NS, or FIRST_COST_MAX_NS among the first of a thread.
 * BESIDE_NS stands for what is not between the two clocks: the visit itself, the draw, the slot.
 *
 * T depends on what was, not on what will be sampled: estimates stay unbiased. Times are only as
 * repeatable as clocks: with an automatic interval a seed repeats nothing.
 *
 * Fill. What fills up at T fills half as fast at 2T. With a doubling at each of equal steps, each
 * step lasts for twice as large a heap as the one before: what the program keeps may grow by 2^n
 * times while the table takes n steps. Nothing that lives is thinned, as one might instead: that
 * would stop all threads, and throw samples away. What it does not bound are objects of T and
 * more, which are recorded with certainty; there are never more of those than memory / T. At the
 * bounds themselves samples are lost and counted, as ever. Stacks have a table of their own, which
 * T slows down but does not bound: beyond it samples have no stack, which is counted.
 */
#include "recorder/steering/budget.h"

#include "base/attributes.h"
#include "recognition/live_set.h"
#include "recognition/slots.h"
#include "recorder/steering/control.h"
#include "recorder/steering/seal.h"
#include "tables/arena.h"
#include "unwind/stack_table.h"

#define ALLOWANCE_NS 500000
#define FULL_NS 1000000
#define DEBT_NS 500000
#define SPARE_NS 250000
#define FIRST_COST_MAX_NS 128000u
#define COST_MAX_NS 16000u
#define TYPICAL_MAX_NS 4000u
#define BESIDE_NS 150u
#define LOOK_NS_MIN 64000u
#define LOOK_NS_MAX 256000u

#define MEMORY_FREE_BYTES ((uint64_t)4 << 20)
#define MEMORY_LOOK_NS 1000000u
/* Own memory is held below its bound by doublings at a half of it and at each further sixteenth. */
#define MEMORY_STEPS 16u
/* Doublings at three quarters of a table and at each further 64th. */
#define FILL_STEPS 64u

static struct {
	/* Ever, by all threads: what each measured sample writes. `typical_ns` as said above. */
	uint64_t spent_ns, typical_ns;
	uint64_t look_at_ns; /* of spent_ns */
	/* The lock guards the rest; who finds it taken leaves the look to the holder. */
	struct bp_lock lock __attribute__((aligned(64)));
	uint64_t seen_spent_ns, seen_typical_ns, seen_cpu_ns, memory_look_ns;
	int64_t bucket_ns;
	uint64_t memory_mark;
	uint64_t fill_marks[4];
} budget = { .look_at_ns = LOOK_NS_MIN, .bucket_ns = ALLOWANCE_NS };

static uint64_t control_word(void)
{
	return __atomic_load_n(&bp_writer_state(&bp_recorder.writer)->control, __ATOMIC_RELAXED);
}

static void coarsen(void)
{
	const uint64_t word = control_word();
	const uint64_t interval = bp_control_interval(word);
	if (interval != 0 && interval <= BP_INTERVAL_MAX / 2)
		(void)bp_control_change(word, 2 * interval);
}

static void refine(void)
{
	const uint64_t word = control_word();
	const uint64_t interval = bp_control_interval(word);
	if (interval / 2 >= BP_INTERVAL_FINEST)
		(void)bp_control_change(word, interval / 2);
}

static uint64_t budget_ppm(void)
{
	const uint64_t ppm = __atomic_load_n(
		&bp_writer_state(&bp_recorder.writer)->budget_ppm, __ATOMIC_RELAXED);
	return ppm >= 1 && ppm <= BP_BUDGET_MAX_PPM ? ppm : BP_BUDGET_DEFAULT_PPM;
}

/* ---- time ---- */

static void look_at_time(void)
{
	const uint64_t cpu_ns = bp_system_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	const uint64_t spent_ns = __atomic_load_n(&budget.spent_ns, __ATOMIC_RELAXED);
	const uint64_t typical_ns = __atomic_load_n(&budget.typical_ns, __ATOMIC_RELAXED);
	/* No longer than a day between two looks: no overflow. */
	const uint64_t day_ns = (uint64_t)86400 * 1000000000;
	uint64_t ran_ns = cpu_ns - budget.seen_cpu_ns;
	ran_ns = ran_ns > day_ns ? day_ns : ran_ns;
	const uint64_t earned = ran_ns / 1000 * budget_ppm() / 1000;
	const uint64_t typical = typical_ns - budget.seen_typical_ns;
	budget.bucket_ns += (int64_t)earned - (int64_t)(spent_ns - budget.seen_spent_ns);
	budget.seen_cpu_ns = cpu_ns;
	budget.seen_spent_ns = spent_ns;
	budget.seen_typical_ns = typical_ns;
	budget.bucket_ns = budget.bucket_ns < FULL_NS ? budget.bucket_ns : FULL_NS;
	if (budget.bucket_ns < 0 && typical > (budget.bucket_ns < -DEBT_NS ? earned / 2 : earned))
		coarsen();
	else if (budget.bucket_ns > SPARE_NS && typical < earned / 4)
		refine();
}

/* ---- memory ---- */

/* Bytes that the process has resident, 0 if /proc does not say, or may not be asked any more. */
static uint64_t resident_bytes(void)
{
	char text[64] = "";
	size_t at = 0;
	uint64_t pages = 0;
	if (bp_recorder.seal < BP_SEAL_FILES)
		(void)bp_system_read_file("/proc/self/statm", text, sizeof text);
	while (text[at] != '\0' && text[at] != ' ')
		at++;
	while (text[at] == ' ')
		at++;
	for (; text[at] >= '0' && text[at] <= '9'; at++)
		pages = pages * 10 + (uint64_t)(text[at] - '0');
	return pages * bp_system_page_bytes();
}

static void look_at_memory(void)
{
	const uint64_t own = bp_arena_bytes() + bp_slot_spare_bytes();
	if (own < MEMORY_FREE_BYTES / 2 || own < budget.memory_mark)
		return;
	const uint64_t bound = MEMORY_FREE_BYTES + resident_bytes() / 100;
	if (own < bound / 2)
		return;
	coarsen();
	budget.memory_mark = own + bound / MEMORY_STEPS;
}

static uint64_t at_most(uint64_t value, uint64_t bound)
{
	return value < bound ? value : bound;
}

static void look(uint64_t spent_ns)
{
	const uint64_t step_ns = at_most(spent_ns / 16, LOOK_NS_MAX);
	__atomic_store_n(&budget.look_at_ns,
		spent_ns + (step_ns < LOOK_NS_MIN ? LOOK_NS_MIN : step_ns), __ATOMIC_RELAXED);
	look_at_time();
	if (spent_ns < budget.memory_look_ns)
		return;
	budget.memory_look_ns = spent_ns + MEMORY_LOOK_NS;
	look_at_memory();
}

void bp_budget_spent(const struct bp_thread *thread, uint64_t began_ns)
{
	const bool first = thread->measured <= BP_BUDGET_EACH_UNTIL;
	const uint64_t took_ns = bp_system_time_ns(CLOCK_MONOTONIC) - began_ns;
	const uint64_t cost_ns =
		BESIDE_NS + at_most(took_ns, first ? FIRST_COST_MAX_NS : COST_MAX_NS);
	const uint64_t times = first ? 1 : BP_BUDGET_ONE_IN;
	__atomic_fetch_add(
		&budget.typical_ns, times * at_most(cost_ns, TYPICAL_MAX_NS), __ATOMIC_RELAXED);
	const uint64_t spent_ns =
		__atomic_add_fetch(&budget.spent_ns, times * cost_ns, __ATOMIC_RELAXED);
	if (bp_likely(spent_ns < __atomic_load_n(&budget.look_at_ns, __ATOMIC_RELAXED)) ||
		!bp_lock_try(&budget.lock))
		return;
	look(spent_ns);
	bp_lock_release(&budget.lock);
}

/* ---- fill ---- */

static void look_at_table(unsigned i, uint64_t used, uint64_t most)
{
	if (used < most / 4 * 3 || used < budget.fill_marks[i])
		return;
	coarsen();
	budget.fill_marks[i] = used + most / FILL_STEPS;
}

void bp_budget_look_at_fill(void)
{
	const uint64_t live = bp_live_count(), slabs = bp_slot_slabs(), arena = bp_arena_bytes(),
		       stacks = bp_stack_table_bytes();
	const bool roomy = live < BP_LIVE_MAX / 4 * 3 && slabs < BP_SLOT_SLABS_MAX / 4 * 3 &&
			   arena < BP_ARENA_MAX_BYTES / 4 * 3 &&
			   stacks < BP_STACK_TABLE_MAX_BYTES / 4 * 3;
	if (bp_likely(roomy) || !bp_lock_try(&budget.lock))
		return;
	look_at_table(0, live, BP_LIVE_MAX);
	look_at_table(1, slabs, BP_SLOT_SLABS_MAX);
	look_at_table(2, arena, BP_ARENA_MAX_BYTES);
	look_at_table(3, stacks, BP_STACK_TABLE_MAX_BYTES);
	bp_lock_release(&budget.lock);
}

void bp_budget_after_fork(void)
{
	(void)bp_lock_reset(&budget.lock);
	budget.seen_spent_ns = budget.spent_ns;
	budget.seen_typical_ns = budget.typical_ns;
	budget.look_at_ns = budget.spent_ns + LOOK_NS_MIN;
	budget.memory_look_ns = budget.spent_ns;
	budget.seen_cpu_ns = 0;
	budget.bucket_ns = ALLOWANCE_NS;
}
