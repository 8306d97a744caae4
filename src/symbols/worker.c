/* SPDX-License-Identifier: MIT */
/*
 * One forked process per module. It reads the files and writes what it finds to a pipe; it may
 * crash, loop or eat memory, all of which ends with it: it has a limit on its memory, dumps no
 *core, is the first to go when memory runs out, and is killed when it is silent for too long. What
 *it took (hundreds of megabytes of debug information) is given back when it ends.
 *
 * Messages, little endian, one after the other:
 *
 *	OFFSET  SIZE  MEANING
 *	0       4     bytes that follow this field
 *	4       4     index of the address; UINT32_MAX: the answer, which comes last
 *	8       ...   frames up to the end: line u32, then function, system name and source file,
 *	              each a length u32 and bytes; or, of the answer: state, stripped, compressed
 *u32
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "symbols/module_resolver.h"

#define ANSWER_INDEX UINT32_MAX
/* Longest silence; indexing the largest debug files takes some seconds. */
#define SILENCE_MS_MAX 120000
/* What the worker may allocate beyond what it was born with, bytes. */
#define WORKER_MEMORY_MAX ((uint64_t)6 << 30)
#define FLUSH_BYTES 65536u
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

static bool send_answer(struct output *output, const struct bp_module_answer *answer)
{
	uint32_t start = output->bytes;
	return put_number(output, 0) && put_number(output, ANSWER_INDEX) &&
	       put_number(output, (uint32_t)answer->state) &&
	       put_number(output, answer->stripped) && put_number(output, answer->compressed) &&
	       close_message(output, start) && flush(output);
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
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	limit_worker();
}

static void __attribute__((noreturn))
work(const struct bp_module_request *request, int fd, pid_t parent)
{
	struct output output = { .fd = fd };
	struct bp_module_answer answer;
	settle_worker(parent);
	if (!bp_module_resolve(request, send_frames, &output, &answer) ||
		!send_answer(&output, &answer))
		_exit(1);
	_exit(0);
}

struct input {
	const struct bp_module_request *request;
	bp_frames_found found;
	void *context;
	uint8_t *data;
	uint32_t bytes, capacity;
	bool answered, stopped; /* stopped: `found` said so, or no memory */
	struct bp_module_answer answer;
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
	input->answer.state = (enum bp_module_state)state;
	input->answer.stripped = bp_bytes_u32(bytes) != 0;
	input->answer.compressed = bp_bytes_u32(bytes) != 0;
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
	if (bytes->failed || count == 0 || index >= input->request->count)
		return false;
	input->stopped = !input->found(input->context, index, frames, count);
	return !input->stopped;
}

/* Takes the whole messages in the buffer; false where nothing more is wanted. */
static bool take_messages(struct input *input, struct texts *texts)
{
	struct bp_bytes all = bp_bytes_of(input->data, input->bytes);
	while (bp_bytes_left(&all) >= sizeof(uint32_t)) {
		struct bp_bytes rest = all;
		uint32_t bytes = bp_bytes_u32(&rest), index = 0;
		struct bp_bytes message;
		if (bytes > MESSAGE_BYTES_MAX)
			return false;
		if (bp_bytes_left(&rest) < bytes)
			break;
		message = bp_bytes_of(bp_bytes_take(&rest, bytes), bytes);
		index = bp_bytes_u32(&message);
		if (index == ANSWER_INDEX ? !take_answer(input, &message)
					  : !take_frames(input, &message, index, texts))
			return false;
		all = rest;
	}
	input->bytes = (uint32_t)bp_bytes_left(&all);
	memmove(input->data, all.at, input->bytes);
	return true;
}

/* Reads once; false at the end, at an error, and after too long a silence. */
static bool receive(struct input *input, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	ssize_t bytes = 0;
	int events = 0;
	if (!bp_vec_reserve(
		    &input->data, &input->capacity, (uint64_t)input->bytes + FLUSH_BYTES, 1)) {
		input->stopped = true;
		return false;
	}
	do
		events = poll(&ready, 1, SILENCE_MS_MAX);
	while (events < 0 && errno == EINTR);
	if (events <= 0)
		return false;
	do
		bytes = read(fd, input->data + input->bytes, FLUSH_BYTES);
	while (bytes < 0 && errno == EINTR);
	if (bytes <= 0)
		return false;
	input->bytes += (uint32_t)bytes;
	return true;
}

static void wait_for(pid_t worker)
{
	int status = 0;
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		continue;
}

static bool start_worker(const struct bp_module_request *request, pid_t *ret_worker, int *ret_fd)
{
	int ends[2];
	pid_t parent = getpid(), worker = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	worker = fork();
	if (worker == 0) {
		close(ends[0]);
		work(request, ends[1], parent);
	}
	close(ends[1]);
	if (worker < 0) {
		close(ends[0]);
		return false;
	}
	*ret_worker = worker;
	*ret_fd = ends[0];
	return true;
}

bool bp_worker_resolve(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer)
{
	struct input input = { .request = request, .found = found, .context = context };
	struct texts *texts = malloc(sizeof *texts);
	pid_t worker = 0;
	int fd = -1;
	if (texts == NULL)
		return false;
	if (start_worker(request, &worker, &fd)) {
		while (receive(&input, fd) && take_messages(&input, texts))
			continue;
		if (!input.answered)
			kill(worker, SIGKILL);
		close(fd);
		wait_for(worker);
	}
	free(texts);
	free(input.data);
	if (input.stopped)
		return false;
	if (!input.answered)
		input.answer = (struct bp_module_answer){ .state = BP_MODULE_FAILED };
	*ret_answer = input.answer;
	return true;
}
