/* SPDX-License-Identifier: MIT */
/*
 * One loop over the session's stream, the socket that runtimes connect to, their connections, and,
 * by way of blocked signals, the end of the program and the user's wish to stop.
 *
 * A started program. Its runtime connects, says who it is, and waits. The first connection of the
 * first runtime carries the session; when that is up its next one gets the resume; the one after
 * that is kept to carry the stop. Every other runtime (children inherit the environment) gets its
 * resume at once. Whatever goes wrong with the session, resumes are sent: nobody is left waiting,
 * not even if we are killed (dotnet_guard.h).
 *
 * Every state of the session has a time limit, so that a runtime that says nothing more, one that
 * is stopped for instance, cannot hold us; recording has none but the user's.
 */
#include "cli/dotnet/dotnet_record.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/dotnet/dotnet_guard.h"
#include "cli/dotnet/dotnet_port.h"
#include "cli/dotnet/dotnet_runtimes.h"
#include "cli/dotnet/dotnet_session.h"
#include "cli/dotnet/dotnet_signals.h"
#include "cli/say.h"

#define PORTS_VARIABLE "DOTNET_DiagnosticPorts"
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
/* Generous, for machines with far too much to do; all of them end in words, not in silence. */
#define ANSWER_LIMIT_S 30u  /* from the request to the session */
#define STOP_LIMIT_S 5u	    /* to get a connection for the stop */
#define SILENCE_LIMIT_S 60u /* without a byte while draining */
#define STOP_RETRY_MS 50u

struct recording {
	const struct bp_dotnet_plan *plan;
	struct bp_dotnet_session session;
	struct bp_dotnet_runtimes runtimes;
	struct bp_dotnet_listener listener;
	struct bp_dotnet_guard guard;
	int file;
	uint8_t cookie[BP_DOTNET_COOKIE_BYTES]; /* of the runtime that is recorded */
	pid_t pid;				/* of the process that is recorded */
	pid_t program;				/* started by us; 0: none */
	int wait_status;
	bool begun, ended; /* the session is asked for; the started program has ended */
	bool stopping;	   /* a stop is to be sent as soon as there is a connection */
	enum bp_dotnet_state state_before;
	uint64_t limit_ns; /* when the state is given up; 0: never */
};

static uint64_t after_ns(uint64_t duration_ns)
{
	const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
	return duration_ns > UINT64_MAX - now ? UINT64_MAX : now + duration_ns;
}

static void give_up(struct recording *recording, const char *reason)
{
	struct bp_dotnet_session *session = &recording->session;
	if (session->error.text[0] == '\0')
		bp_error_set(&session->error, "%s", reason);
	session->state = BP_DOTNET_FAILED;
	bp_dotnet_session_close(session);
}

/* ---- runtimes that connect ---- */

static bool is_recorded(const struct recording *recording, const uint8_t *cookie)
{
	return recording->begun && recording->program != 0 &&
	       memcmp(cookie, recording->cookie, BP_DOTNET_COOKIE_BYTES) == 0;
}

static pid_t peer_of(int connection)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

/* The first runtime that comes is the one that is recorded. */
static void begin_with(struct recording *recording, uint32_t i)
{
	memcpy(recording->cookie, recording->runtimes.connections[i].who.cookie,
		BP_DOTNET_COOKIE_BYTES);
	const int connection = bp_dotnet_take(&recording->runtimes, i);
	recording->begun = true;
	recording->pid = peer_of(connection);
	recording->limit_ns = after_ns(ANSWER_LIMIT_S * NS_PER_S);
	bp_dotnet_session_begin(
		&recording->session, connection, recording->file, &recording->plan->request);
}

static void answer_runtimes(struct recording *recording)
{
	struct bp_dotnet_runtimes *runtimes = &recording->runtimes;
	/* From the end: one that is taken is replaced by the last one. */
	for (uint32_t i = runtimes->count; i-- > 0;) {
		struct bp_dotnet_connection *connection = &runtimes->connections[i];
		const uint8_t *cookie = connection->who.cookie;
		if (!connection->known || connection->commanded)
			continue;
		if (!recording->begun)
			begin_with(recording, i);
		else if (!bp_dotnet_is_resumed(runtimes, cookie) &&
			 !(is_recorded(recording, cookie) &&
				 recording->session.state == BP_DOTNET_ASKED))
			bp_dotnet_resume_one(connection);
	}
}

/* A connection on which the recorded runtime waits for a command; -1: none. */
static int waiting_connection(struct recording *recording)
{
	struct bp_dotnet_runtimes *runtimes = &recording->runtimes;
	for (uint32_t i = 0; i < runtimes->count; i++) {
		const struct bp_dotnet_connection *connection = &runtimes->connections[i];
		if (connection->known && !connection->commanded &&
			is_recorded(recording, connection->who.cookie) &&
			bp_dotnet_is_resumed(runtimes, connection->who.cookie))
			return bp_dotnet_take(runtimes, i);
	}
	return -1;
}

/* ---- the states of a session ---- */

static void want_stop(struct recording *recording)
{
	if (recording->stopping)
		return;
	recording->stopping = true;
	recording->limit_ns = after_ns(STOP_LIMIT_S * NS_PER_S);
}

static void try_stop(struct recording *recording)
{
	struct bp_error error = { .text = "" };
	int connection = waiting_connection(recording);
	if (connection < 0 && recording->pid > 0)
		connection = bp_dotnet_port_connect(recording->pid, &error);
	if (connection < 0)
		return; /* it is just coming again, or ending, and the stream with it */
	bp_dotnet_session_stop(&recording->session, connection);
}

static void heed_limit(struct recording *recording)
{
	if (recording->limit_ns == 0 || bp_system_time_ns(CLOCK_MONOTONIC) < recording->limit_ns)
		return;
	switch (recording->session.state) {
	case BP_DOTNET_ASKED:
		give_up(recording, "the runtime does not answer: is it stopped?");
		break;
	case BP_DOTNET_RECORDING:
		if (recording->stopping)
			give_up(recording, "the runtime could not be told to stop: the names of "
					   "methods are missing");
		else
			want_stop(recording);
		break;
	case BP_DOTNET_DRAINING:
		give_up(recording,
			"the runtime has fallen silent: the rest of the trace is missing");
		break;
	default:
		break;
	}
}

static void heed_wish(struct recording *recording)
{
	if (!bp_dotnet_signals_wish() || !recording->begun)
		return;
	switch (recording->session.state) {
	case BP_DOTNET_ASKED:
		give_up(recording, "stopped before the runtime had answered");
		break;
	case BP_DOTNET_RECORDING:
		if (recording->stopping)
			give_up(recording, "stopped twice: the rest of the trace is missing");
		else
			want_stop(recording);
		break;
	case BP_DOTNET_DRAINING:
		give_up(recording, "stopped twice: the rest of the trace is missing");
		break;
	default:
		break;
	}
}

static void heed_change(struct recording *recording, bool bytes_came)
{
	const enum bp_dotnet_state state = recording->session.state;
	const struct bp_dotnet_plan *plan = recording->plan;
	if (state == BP_DOTNET_DRAINING && (bytes_came || state != recording->state_before))
		recording->limit_ns = after_ns(SILENCE_LIMIT_S * NS_PER_S);
	if (state == BP_DOTNET_RECORDING && state != recording->state_before) {
		recording->limit_ns = plan->duration_ns == 0 ? 0 : after_ns(plan->duration_ns);
		if (recording->program == 0 && !plan->quiet)
			bp_say(stderr, "bytepoll: recording process %ld: Ctrl-C ends it",
				(long)recording->pid);
	}
	recording->state_before = state;
	if (state == BP_DOTNET_RECORDING && recording->session.file_failed)
		want_stop(recording);
}

/* ---- the loop ---- */

static bool session_is_over(const struct recording *recording)
{
	return !recording->begun || recording->session.state == BP_DOTNET_ENDED ||
	       recording->session.state == BP_DOTNET_FAILED;
}

static void reap(struct recording *recording)
{
	if (recording->program == 0 || recording->ended ||
		waitpid(recording->program, &recording->wait_status, WNOHANG) != recording->program)
		return;
	recording->ended = true;
	bp_dotnet_signals_give_to(0);
}

static bool is_over(const struct recording *recording)
{
	return session_is_over(recording) && (recording->program == 0 || recording->ended);
}

/* How long to wait at most. */
static const struct timespec *patience(const struct recording *recording, struct timespec *time)
{
	uint64_t ns = UINT64_MAX;
	if (!session_is_over(recording) && recording->limit_ns != 0) {
		const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
		ns = now >= recording->limit_ns ? 0 : recording->limit_ns - now;
	}
	if (recording->stopping && recording->session.state == BP_DOTNET_RECORDING &&
		ns > STOP_RETRY_MS * NS_PER_MS)
		ns = STOP_RETRY_MS * NS_PER_MS;
	if (ns == UINT64_MAX)
		return NULL;
	*time = (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S) };
	return time;
}

/* The started program has ended; a runtime that it started may go on. */
static void tell_of_survivor(const struct recording *recording)
{
	if (!session_is_over(recording) && recording->pid != recording->program &&
		recording->pid > 0 && kill(recording->pid, 0) == 0 && !recording->plan->quiet)
		bp_say(stderr,
			"bytepoll: the program has ended; process %ld that it started goes on and "
			"is recorded: Ctrl-C ends it",
			(long)recording->pid);
}

/* Until session and program are over. */
static void serve(struct recording *recording, const sigset_t *mask)
{
	bool told = false;
	while (!is_over(recording)) {
		struct timespec time;
		const int stream = recording->begun ? recording->session.stream : -1;
		const bool ready = bp_dotnet_runtimes_wait(
			&recording->runtimes, stream, patience(recording, &time), mask);
		if (ready)
			bp_dotnet_session_read(&recording->session);
		reap(recording);
		answer_runtimes(recording);
		heed_change(recording, ready);
		heed_wish(recording);
		heed_limit(recording);
		if (recording->stopping && recording->session.state == BP_DOTNET_RECORDING)
			try_stop(recording);
		if (recording->ended && !told) {
			told = true;
			tell_of_survivor(recording);
		}
	}
}

static void tell(struct recording *recording, struct bp_dotnet_outcome *outcome)
{
	struct bp_dotnet_session *session = &recording->session;
	if (recording->file >= 0 && close(recording->file) != 0 && session->error.text[0] == '\0')
		bp_error_set(&session->error, "the trace cannot be written: %s", strerror(errno));
	outcome->recorded = recording->begun && session->bytes > 0;
	outcome->whole = session->state == BP_DOTNET_ENDED && !session->file_failed &&
			 bp_dotnet_session_closed_in_order(session);
	outcome->bytes = session->bytes;
	outcome->wait_status = recording->wait_status;
	if (outcome->error.text[0] == '\0')
		outcome->error = session->error;
	for (uint32_t i = 0; i < recording->runtimes.resumed_count; i++)
		outcome->others += !is_recorded(recording, recording->runtimes.resumed[i].bytes);
	bp_dotnet_session_close(session);
}

static void prepare(struct recording *recording, const struct bp_dotnet_plan *plan)
{
	*recording = (struct recording){
		.plan = plan, .listener = { .fd = -1 }, .runtimes = { .listener = -1 }, .file = -1
	};
	recording->session.stream = recording->session.stop = -1;
}

void bp_dotnet_join(
	pid_t pid, const struct bp_dotnet_plan *plan, struct bp_dotnet_outcome *ret_outcome)
{
	static struct recording recording;
	struct bp_dotnet_signals signals;
	*ret_outcome = (struct bp_dotnet_outcome){ 0 };
	prepare(&recording, plan);
	const int connection = bp_dotnet_port_connect(pid, &ret_outcome->error);
	if (connection < 0)
		return;
	recording.file = plan->open_file(plan->context, pid, &ret_outcome->error);
	if (recording.file < 0) {
		close(connection);
		return;
	}
	bp_dotnet_signals_hold(&signals);
	recording.begun = true;
	recording.pid = pid;
	recording.limit_ns = after_ns(ANSWER_LIMIT_S * NS_PER_S);
	bp_dotnet_session_begin(&recording.session, connection, recording.file, &plan->request);
	serve(&recording, &signals.found);
	tell(&recording, ret_outcome);
	bp_dotnet_runtimes_finish(&recording.runtimes);
	bp_dotnet_signals_restore(&signals);
}

/* ---- a program of our own ---- */

/* The child, up to the program: waits for its go, says nothing if all is well. Never returns. */
static void become(char *const *words, const struct recording *recording,
	const struct bp_dotnet_signals *signals, int channel)
{
	const char *before = getenv(PORTS_VARIABLE);
	char *ports, go;
	int failure = ENOMEM;
	const bool more = before != NULL && *before != '\0';
	if (recv(channel, &go, 1, 0) != 1)
		_exit(125); /* the parent says why */
	if (asprintf(&ports, "%s%s%s", recording->listener.path, more ? ";" : "",
		    more ? before : "") >= 0 &&
		setenv(PORTS_VARIABLE, ports, 1) == 0) {
		bp_dotnet_signals_restore(signals);
		execvp(words[0], words);
		failure = errno;
	}
	send(channel, &failure, sizeof failure, MSG_NOSIGNAL);
	_exit(125);
}

/* Forks and starts; false: there is no program. */
static bool launch(struct recording *recording, char *const *words,
	const struct bp_dotnet_signals *signals, int *ret_errno, struct bp_error *error)
{
	const struct bp_dotnet_plan *plan = recording->plan;
	int channels[2], failure = 0;
	ssize_t got;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels) != 0)
		return bp_error_set(error, "no socket: %s", strerror(errno));
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		close(channels[0]);
		become(words, recording, signals, channels[1]);
	}
	close(channels[1]);
	if (child < 0) {
		close(channels[0]);
		return bp_error_set(error, "no process can be made: %s", strerror(errno));
	}
	recording->file = plan->open_file(plan->context, child, error);
	const bool opened = recording->file >= 0;
	if (opened && send(channels[0], "", 1, MSG_NOSIGNAL) == 1) {
		do
			got = recv(channels[0], &failure, sizeof failure, 0);
		while (got < 0 && errno == EINTR);
	}
	close(channels[0]); /* a child that still waits for its go ends now */
	if (opened && failure == 0) {
		recording->program = child;
		return true;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	*ret_errno = failure;
	return false;
}

bool bp_dotnet_start(char *const *words, const struct bp_dotnet_plan *plan,
	struct bp_dotnet_outcome *ret_outcome, int *ret_errno)
{
	static struct recording recording;
	struct bp_dotnet_signals signals;
	bool started = false;
	*ret_outcome = (struct bp_dotnet_outcome){ 0 };
	*ret_errno = 0;
	prepare(&recording, plan);
	if (!bp_dotnet_listen(&recording.listener, &ret_outcome->error))
		return false;
	recording.runtimes.listener = recording.listener.fd;
	if (!bp_dotnet_guard_begin(&recording.listener, &recording.guard, &ret_outcome->error)) {
		bp_dotnet_listen_end(&recording.listener);
		return false;
	}
	bp_dotnet_signals_hold(&signals);
	started = launch(&recording, words, &signals, ret_errno, &ret_outcome->error);
	if (started) {
		bp_dotnet_signals_give_to(recording.program);
		serve(&recording, &signals.found);
	}
	tell(&recording, ret_outcome);
	const pid_t guard = recording.guard.pid;
	if (bp_dotnet_guard_end(&recording.guard, &recording.listener))
		ret_outcome->guard = guard;
	else
		bp_dotnet_listen_end(&recording.listener);
	/* After the guard: who is let go comes again, to it. */
	bp_dotnet_runtimes_finish(&recording.runtimes);
	bp_dotnet_signals_restore(&signals);
	return started;
}
