/* SPDX-License-Identifier: MIT */
/*
 * One forked process per module. It reads the files and writes what it finds to a pipe; it may
 * crash, loop or eat memory, all of which ends with it: it has a limit on its memory, dumps no
 * core, is the first to go when memory runs out, and is killed when it is silent for too long. What
 * it took (hundreds of megabytes of debug information) is given back when it ends.
 *
 * Several run at a time, as many as there are processors. Their messages are taken in the order of
 * the jobs all the same, so that the same trace gives the same profile however they finish: who is
 * ahead of its turn is read into a buffer of bounded size, and then has to wait.
 *
 * Messages, little endian, one after the other:
 *
 *	OFFSET  SIZE  MEANING
 *	0       4     bytes that follow this field
 *	4       4     index of the address; UINT32_MAX: the answer, which comes last; UINT32_MAX - 1:
 *	              a sign of life
 *	8       ...   frames up to the end: line u32, then function, system name and source file,
 *	              each a length u32 and bytes; or, of the answer: state, stripped, compressed,
 *	              too large, each u32; or, of a sign of life: bytes fetched and to fetch, each u64
 */
#include "symbols/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/system_call.h"
#include "base/vec.h"
#include "symbols/module_resolver.h"

#define ANSWER_INDEX UINT32_MAX
/* Longest silence; indexing the largest debug files takes some seconds. */
#define SILENCE_MS_MAX 120000
/* What the worker may allocate beyond what it was born with, bytes. */
#define WORKER_MEMORY_MAX ((uint64_t)6 << 30)
#define FLUSH_BYTES 65536u
/* What is read of a worker ahead of its turn, bytes. */
#define AHEAD_BYTES_MAX (64u << 20)
#define SIGN_OF_LIFE (UINT32_MAX - 1)
/* P_PIDFD of Linux 5.4, which headers of glibc before 2.36 lack. */
#define BY_DESCRIPTOR ((idtype_t)3)
#define MESSAGE_BYTES_MAX (8u + BP_FRAMES_MAX * (16u + 3u * BP_FRAME_TEXT_MAX))

struct output {
	int fd;
	uint8_t *data;
	uint32_t bytes, capacity;
};

static bool flush(struct output *output)
{
	uint32_t done = 0;
	while (done < output->bytes) {
		ssize_t written = write(output->fd, output->data + done, output->bytes - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		done += (uint32_t)written;
	}
	output->bytes = 0;
	return true;
}

static bool put(struct output *output, const void *data, uint32_t bytes)
{
	if (!bp_vec_reserve(&output->data, &output->capacity, (uint64_t)output->bytes + bytes, 1))
		return false;
	memcpy(output->data + output->bytes, data, bytes);
	output->bytes += bytes;
	return true;
}

static bool put_number(struct output *output, uint32_t number)
{
	return put(output, &number, sizeof number);
}

static bool put_text(struct output *output, const char *text)
{
	uint32_t bytes = (uint32_t)strnlen(text, BP_FRAME_TEXT_MAX);
	return put_number(output, bytes) && put(output, text, bytes);
}

/* Writes the length into the message that began at `start`, and the buffer when it is full. */
static bool close_message(struct output *output, uint32_t start)
{
	uint32_t bytes = output->bytes - start - (uint32_t)sizeof bytes;
	memcpy(output->data + start, &bytes, sizeof bytes);
	return output->bytes < FLUSH_BYTES || flush(output);
}

static bool send_frames(
	void *context, uint32_t index, const struct bp_found_frame *frames, uint32_t count)
{
	struct output *output = context;
	uint32_t start = output->bytes;
	if (!put_number(output, 0) || !put_number(output, index))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!put_number(output, frames[i].line) || !put_text(output, frames[i].function) ||
			!put_text(output, frames[i].system_name) ||
			!put_text(output, frames[i].source_file))
			return false;
	return close_message(output, start);
}

/* For what takes long before the first frame, as a download does. */
static bool send_sign_of_life(void *context, uint64_t done, uint64_t all)
{
	struct output *output = context;
	uint32_t start = output->bytes;
	return put_number(output, 0) && put_number(output, SIGN_OF_LIFE) &&
	       put(output, &done, sizeof done) && put(output, &all, sizeof all) &&
	       close_message(output, start) && flush(output);
}

static bool send_answer(struct output *output, const struct bp_module_answer *answer)
{
	uint32_t start = output->bytes;
	return put_number(output, 0) && put_number(output, ANSWER_INDEX) &&
	       put_number(output, (uint32_t)answer->state) &&
	       put_number(output, answer->stripped) && put_number(output, answer->compressed) &&
	       put_number(output, answer->too_large) && close_message(output, start) &&
	       flush(output);
}

/* The bytes of data and stack this process has now, from /proc/self/statm; 0 unknown. */
static uint64_t data_bytes_now(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_worker(void)
{
	struct rlimit none = { 0, 0 }, memory;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "1000", 4) != 4)
			errno = 0; /* then it is killed in its turn */
		close(fd);
	}
	setrlimit(RLIMIT_CORE, &none);
	if (getrlimit(RLIMIT_DATA, &memory) == 0) {
		rlim_t limit = data_bytes_now() + WORKER_MEMORY_MAX;
		if (memory.rlim_cur == RLIM_INFINITY || memory.rlim_cur > limit) {
			memory.rlim_cur = limit;
			setrlimit(RLIMIT_DATA, &memory);
		}
	}
}

/* Nothing of the parent's is to happen here: no handler of its, no message of a library. */
static void settle_worker(pid_t parent)
{
	static const int own_signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE,
		SIGTERM, SIGALRM, SIGINT, SIGHUP, SIGQUIT };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < sizeof own_signals / sizeof own_signals[0]; i++)
		signal(own_signals[i], SIG_DFL);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	/* No library is to ask the network on its own account (debuginfod.c). */
	unsetenv("DEBUGINFOD_URLS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	limit_worker();
}

static void __attribute__((noreturn))
work(const struct bp_module_request *asked, int fd, pid_t parent)
{
	struct output output = { .fd = fd };
	struct bp_module_request request = *asked;
	struct bp_module_answer answer;
	settle_worker(parent);
	request.alive = send_sign_of_life;
	request.alive_context = &output;
	if (!bp_module_resolve(&request, send_frames, &output, &answer) ||
		!send_answer(&output, &answer))
		_exit(1);
	_exit(0);
}

/* A job at work, or done and not yet taken. */
struct input {
	struct bp_worker_job *job;
	pid_t worker;
	int process; /* a descriptor that stands for it; -1: there is none */
	int fd;	     /* -1: closed */
	uint8_t *data;
	uint32_t bytes, capacity;
	int64_t heard_ms;	/* when it was last heard, or last had no chance to speak */
	bool answered, stopped; /* stopped: `found` said so, or no memory */
};

/* Copies a text into `storage` and terminates it. */
static const char *take_text(struct bp_bytes *bytes, char storage[BP_FRAME_TEXT_MAX + 1])
{
	uint32_t length = bp_bytes_u32(bytes);
	const uint8_t *text = NULL;
	if (length > BP_FRAME_TEXT_MAX)
		bytes->failed = true;
	text = bp_bytes_take(bytes, length);
	if (text == NULL)
		return "";
	memcpy(storage, text, length);
	storage[length] = '\0';
	return storage;
}

static bool take_answer(struct input *input, struct bp_bytes *bytes)
{
	uint32_t state = bp_bytes_u32(bytes);
	struct bp_module_answer *answer = &input->job->answer;
	answer->state = (enum bp_module_state)state;
	answer->stripped = bp_bytes_u32(bytes) != 0;
	answer->compressed = bp_bytes_u32(bytes) != 0;
	answer->too_large = bp_bytes_u32(bytes) != 0;
	input->answered = !bytes->failed && state < BP_MODULE_FAILED;
	return input->answered;
}

/* Storage for the texts of all frames of one message. */
struct texts {
	char text[BP_FRAMES_MAX][3][BP_FRAME_TEXT_MAX + 1];
};

static bool take_frames(
	struct input *input, struct bp_bytes *bytes, uint32_t index, struct texts *texts)
{
	struct bp_found_frame frames[BP_FRAMES_MAX];
	uint32_t count = 0;
	while (!bytes->failed && bp_bytes_left(bytes) > 0 && count < BP_FRAMES_MAX) {
		frames[count].line = bp_bytes_u32(bytes);
		frames[count].function = take_text(bytes, texts->text[count][0]);
		frames[count].system_name = take_text(bytes, texts->text[count][1]);
		frames[count].source_file = take_text(bytes, texts->text[count][2]);
		count++;
	}
	if (bytes->failed || count == 0 || index >= input->job->request.count)
		return false;
	input->stopped = !input->job->found(input->job->context, index, frames, count);
	return !input->stopped;
}

static bool take_sign_of_life(struct input *input, struct bp_bytes *bytes)
{
	uint64_t done = bp_bytes_u64(bytes), all = bp_bytes_u64(bytes);
	if (!bytes->failed && input->job->progress != NULL)
		input->job->progress(input->job->context, done, all);
	return !bytes->failed;
}

static bool take_message(struct input *input, struct bp_bytes *message, struct texts *texts)
{
	uint32_t index = bp_bytes_u32(message);
	if (index == ANSWER_INDEX)
		return take_answer(input, message);
	if (index == SIGN_OF_LIFE)
		return take_sign_of_life(input, message);
	return take_frames(input, message, index, texts);
}

/* Takes the whole messages in the buffer; false where nothing more is wanted. */
static bool take_messages(struct input *input, struct texts *texts)
{
	struct bp_bytes all = bp_bytes_of(input->data, input->bytes);
	while (bp_bytes_left(&all) >= sizeof(uint32_t)) {
		struct bp_bytes rest = all;
		uint32_t bytes = bp_bytes_u32(&rest);
		struct bp_bytes message;
		if (bytes > MESSAGE_BYTES_MAX)
			return false;
		if (bp_bytes_left(&rest) < bytes)
			break;
		message = bp_bytes_of(bp_bytes_take(&rest, bytes), bytes);
		if (!take_message(input, &message, texts))
			return false;
		all = rest;
	}
	input->bytes = (uint32_t)bp_bytes_left(&all);
	if (input->bytes > 0)
		memmove(input->data, all.at, input->bytes);
	return true;
}

static int64_t now_ms(void)
{
	return (int64_t)(bp_system_time_ns(CLOCK_MONOTONIC) / 1000000u);
}

/* Nothing more is wanted of it, whatever it still does. By its descriptor where the kernel has
 * such: a program that calls this as a library may have waited for any child of its own, and the
 * number may by now be that of another process. */
static void stop_worker(struct input *input)
{
	const bool named = input->process >= 0;
	siginfo_t how;
	if (input->fd < 0)
		return;
	if (named)
		syscall(SYS_pidfd_send_signal, input->process, SIGKILL, NULL, 0);
	else
		kill(input->worker, SIGKILL);
	close(input->fd);
	input->fd = -1;
	while (waitid(named ? BY_DESCRIPTOR : P_PID, (id_t)(named ? input->process : input->worker),
		       &how, WEXITED) < 0 &&
		errno == EINTR)
		continue;
	if (named)
		close(input->process);
}

/* Reads once; at the end, and at an error, the worker is done. */
static void receive(struct input *input)
{
	ssize_t bytes = 0;
	if (!bp_vec_reserve(
		    &input->data, &input->capacity, (uint64_t)input->bytes + FLUSH_BYTES, 1)) {
		input->stopped = true;
		return;
	}
	do
		bytes = read(input->fd, input->data + input->bytes, FLUSH_BYTES);
	while (bytes < 0 && errno == EINTR);
	if (bytes <= 0) {
		stop_worker(input);
		return;
	}
	input->bytes += (uint32_t)bytes;
	input->heard_ms = now_ms();
}

/* Starts a worker on the job; where that cannot be, it is done without an answer. */
static void start_worker(struct input *input, struct bp_worker_job *job)
{
	int ends[2];
	pid_t parent = getpid();
	*input = (struct input){ .job = job, .process = -1, .fd = -1, .heard_ms = now_ms() };
	job->answer = (struct bp_module_answer){ .state = BP_MODULE_FAILED };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	input->worker = fork();
	if (input->worker == 0) {
		close(ends[0]);
		work(&job->request, ends[1], parent);
	}
	close(ends[1]);
	if (input->worker < 0) {
		close(ends[0]);
		return;
	}
	input->fd = ends[0];
	input->process = (int)syscall(SYS_pidfd_open, input->worker, 0);
}

/* The workers at work: inputs[first] is the one whose turn it is, up to inputs[started]. */
struct crew {
	struct bp_worker_job *jobs;
	struct input *inputs;
	struct pollfd *ready;
	struct texts *texts;
	uint32_t count, first, started, at_once;
};

static bool may_speak(const struct crew *crew, uint32_t i)
{
	return crew->inputs[i].fd >= 0 &&
	       (i == crew->first || crew->inputs[i].bytes < AHEAD_BYTES_MAX);
}

static void start_more(struct crew *crew)
{
	uint32_t running = 0;
	for (uint32_t i = crew->first; i < crew->started; i++)
		running += crew->inputs[i].fd >= 0;
	for (; running < crew->at_once && crew->started < crew->count; running++) {
		start_worker(&crew->inputs[crew->started], &crew->jobs[crew->started]);
		crew->started++;
	}
}

/* Waits until somebody speaks, and reads; who has been silent for too long is stopped. */
static void listen_once(struct crew *crew)
{
	int64_t now = now_ms(), patience = SILENCE_MS_MAX;
	for (uint32_t i = crew->first; i < crew->started; i++) {
		struct input *input = &crew->inputs[i];
		bool may = may_speak(crew, i);
		crew->ready[i - crew->first] =
			(struct pollfd){ .fd = may ? input->fd : -1, .events = POLLIN };
		if (!may)
			input->heard_ms = now;
		else if (input->heard_ms + SILENCE_MS_MAX - now < patience)
			patience = input->heard_ms + SILENCE_MS_MAX - now;
	}
	if (poll(crew->ready, crew->started - crew->first, patience > 0 ? (int)patience : 0) < 0 &&
		errno != EINTR)
		patience = 0;
	now = now_ms();
	for (uint32_t i = crew->first; i < crew->started; i++) {
		struct input *input = &crew->inputs[i];
		if (crew->ready[i - crew->first].fd < 0)
			continue;
		if (crew->ready[i - crew->first].revents != 0)
			receive(input);
		else if (now - input->heard_ms >= SILENCE_MS_MAX)
			stop_worker(input);
	}
}

/* Takes what the one whose turn it is has said; false where nothing more can be done. */
static bool take_turn(struct crew *crew)
{
	struct input *input = &crew->inputs[crew->first];
	bool going_on = take_messages(input, crew->texts);
	if (input->stopped)
		return false;
	if (going_on && input->fd >= 0)
		return true;
	stop_worker(input);
	if (!input->answered)
		input->job->answer = (struct bp_module_answer){ .state = BP_MODULE_FAILED };
	free(input->data);
	input->data = NULL;
	crew->first++;
	return true;
}

static bool run_crew(struct crew *crew)
{
	while (crew->first < crew->count) {
		uint32_t turn = crew->first;
		start_more(crew);
		if (!take_turn(crew))
			return false;
		if (crew->first == turn)
			listen_once(crew);
		for (uint32_t i = crew->first; i < crew->started; i++)
			if (crew->inputs[i].stopped)
				return false;
	}
	return true;
}

bool bp_workers_resolve(struct bp_worker_job *jobs, uint32_t count, uint32_t at_once)
{
	struct crew crew = { .jobs = jobs, .count = count, .at_once = at_once > 0 ? at_once : 1 };
	bool done = false;
	if (count == 0)
		return true;
	crew.inputs = calloc(count, sizeof *crew.inputs);
	crew.ready = calloc(count, sizeof *crew.ready);
	crew.texts = malloc(sizeof *crew.texts);
	if (crew.inputs != NULL && crew.ready != NULL && crew.texts != NULL)
		done = run_crew(&crew);
	for (uint32_t i = crew.first; crew.inputs != NULL && i < crew.started; i++) {
		stop_worker(&crew.inputs[i]);
		free(crew.inputs[i].data);
	}
	free(crew.inputs);
	free(crew.ready);
	free(crew.texts);
	return done;
}
