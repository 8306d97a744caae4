/* SPDX-License-Identifier: MIT */
/* See process.h. The list of states and the host are guarded by one lock, which is held neither
 * over Lua nor over the allocator below. */
#include "process.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator.h"

static struct {
	pthread_mutex_t lock;
	struct bp_host *host;
	pid_t pid;		     /* whose host that is; 0: none was opened */
	bool left_live;		     /* samples of a state that was closed are still told to live */
	uint32_t opened;	     /* states, ever */
	struct bp_lua_state *states; /* that live */
	struct bp_host_options options; /* of that host */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const type_names[BP_LUA_KINDS] = { "internal", "string", "table", "function",
	"userdata", "thread", "upvalue", "prototype" };

static uint64_t interval_at_start(void)
{
	return process.options.dormant ? BP_SAMPLER_OFF : process.options.interval;
}

/* Opens the trace of this process. A forked child that cannot is left alone: its parent could. */
static bool open_host(char *problem)
{
	const bool is_child = process.pid != 0;
	process.options = (struct bp_host_options){
		.name = LUA_VERSION,
		.law = BP_SAMPLER_EXACT,
		.charge = BP_SAMPLER_CHARGE,
		.follows_control = true,
	};
	if (!bp_host_settings(&process.options, problem))
		return is_child;
	process.host = bp_host_open(&process.options);
	if (process.host == NULL && !is_child) {
		bp_host_open_problem(&process.options, errno, problem);
		return false;
	}
	process.pid = getpid();
	process.left_live = false;
	process.opened = 0;
	return true;
}

static bool nothing_lives(const void *object, void *context)
{
	(void)object, (void)context;
	return false;
}

static void join(struct bp_lua_state *state)
{
	char name[32];
	if (process.left_live)
		bp_host_sweep(process.host, nothing_lives, NULL);
	process.left_live = false;
	state->host = process.host;
	state->ordinal = process.opened++;
	(void)snprintf(name, sizeof name, "lua state %u", state->ordinal + 1);
	state->thread = bp_host_thread(process.host, name);
	state->interval = process.options.interval;
	for (int kind = 0; kind < BP_LUA_KINDS; kind++)
		state->types[kind] =
			bp_host_type(process.host, type_names[kind], strlen(type_names[kind]));
	/* Every state its own stream: the sampler's seeding mixes. */
	bp_sampler_init(&state->sampler,
		process.options.seed + state->ordinal * 0x9e3779b97f4a7c15u, interval_at_start(),
		BP_SAMPLER_EXACT);
	(void)bp_host_follow(state->host, state->thread, &state->sampler, &state->hot);
	state->next = process.states;
	if (state->next != NULL)
		state->next->previous = state;
	process.states = state;
}

bool bp_lua_process_join(struct bp_lua_state *state, char *problem)
{
	(void)pthread_mutex_lock(&process.lock);
	bool is_open = true;
	if (process.pid != getpid())
		is_open = open_host(problem);
	if (is_open)
		join(state);
	(void)pthread_mutex_unlock(&process.lock);
	return is_open;
}

bool bp_lua_process_is_alone(const struct bp_lua_state *state)
{
	(void)pthread_mutex_lock(&process.lock);
	const bool is_alone = state->next == NULL && state->previous == NULL;
	(void)pthread_mutex_unlock(&process.lock);
	return is_alone;
}

void bp_lua_process_closing(struct bp_lua_state *state)
{
	(void)pthread_mutex_lock(&process.lock);
	if (state->next == NULL && state->previous == NULL && state->host != NULL) {
		bp_host_thread_end(
			state->host, state->thread, bp_lua_trials(state), state->hot.objects);
		process.left_live = true;
		state->host = NULL;
	}
	(void)pthread_mutex_unlock(&process.lock);
}

void bp_lua_process_leave(struct bp_lua_state *state)
{
	(void)pthread_mutex_lock(&process.lock);
	if (state->host != NULL)
		bp_host_thread_end(
			state->host, state->thread, bp_lua_trials(state), state->hot.objects);
	if (state->next != NULL)
		state->next->previous = state->previous;
	if (state->previous != NULL)
		state->previous->next = state->next;
	else
		process.states = state->next;
	(void)pthread_mutex_unlock(&process.lock);
	bp_lua_names_destroy(state->names);
	free(state);
}

const char *bp_lua_process_trace(const struct bp_lua_state *state)
{
	return state->host == NULL ? "" : bp_host_path(state->host);
}

static bool has_other_threads(void)
{
	struct stat tasks;
	return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

/* The process ends. While states live that other threads may be running, the trace stays open,
 * with what has been counted so far: readers take it for one of a process that was killed. */
__attribute__((destructor)) static void at_exit(void)
{
	(void)pthread_mutex_lock(&process.lock);
	const bool may_run = process.states != NULL && has_other_threads();
	for (struct bp_lua_state *state = process.states; state != NULL; state = state->next) {
		if (state->host == process.host && !may_run)
			bp_host_thread_end(state->host, state->thread, bp_lua_trials(state),
				state->hot.objects);
		else if (state->host == process.host)
			bp_lua_publish(state);
		if (!may_run)
			state->host = NULL;
	}
	if (!may_run)
		bp_host_close(process.host);
	if (!may_run)
		process.host = NULL;
	(void)pthread_mutex_unlock(&process.lock);
}
