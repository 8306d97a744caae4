/* SPDX-License-Identifier: MIT */
/* See config.h. Plain parsing over the environment block; no libc function that allocates. */
#include "start/config.h"

#include "base/clock.h"
#include "base/executable.h"
#include "base/number.h"
#include "base/system_call.h"
#include "probes/tracepoints.h"
#include "tables/arena.h"
#include "unwind/modules.h"

extern char **environ;

#define ENVIRONMENT_BYTES (128u << 10)
#define COMMAND_LINE_BYTES 1500u
#define PROGRAM_BYTES 1500u

static char **environment_of_kernel(void);

const char *bp_config_find(char **environment, const char *name)
{
	size_t length = __builtin_strlen(name);
	if (environment == NULL)
		environment = environ != NULL ? environ : environment_of_kernel();
	for (; environment != NULL && *environment != NULL; environment++)
		if (__builtin_strncmp(*environment, name, length) == 0 &&
			(*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* Before libc has set `environ` the kernel still knows: an array over /proc/self/environ. */
static char **environment_of_kernel(void)
{
	char *text = bp_arena_allocate(ENVIRONMENT_BYTES);
	char **array = bp_arena_allocate(ENVIRONMENT_BYTES / 2 * sizeof *array);
	if (text == NULL || array == NULL)
		return NULL;
	size_t length = bp_system_read_file("/proc/self/environ", text, ENVIRONMENT_BYTES);
	size_t count = 0;
	for (size_t at = 0; at < length; at += __builtin_strlen(text + at) + 1)
		array[count++] = text + at;
	array[count] = NULL;
	return array;
}

/* Appends to a path buffer; false when it is full. */
static bool append(char *path, const char *text)
{
	size_t have = __builtin_strlen(path), more = __builtin_strlen(text);
	if (have + more >= BP_PATH_BYTES - 64) /* room for `.d/<pid>.<n>.bpt` */
		return false;
	__builtin_memcpy(path + have, text, more + 1);
	return true;
}

static bool append_pid(char *path)
{
	char digits[12];
	char *digit = digits + sizeof digits - 1;
	*digit = '\0';
	for (uint32_t pid = bp_system_pid(); pid != 0; pid /= 10)
		*--digit = (char)('0' + pid % 10);
	return append(path, digit);
}

/* bytepoll.<program>.<pid>.bpt */
static void default_name(char *name)
{
	char program[32] = "";
	(void)bp_system_read_file("/proc/self/comm", program, sizeof program);
	for (char *c = program; *c != '\0'; c++)
		if (*c == '/' || *c == '\n')
			*c = *c == '\n' ? '\0' : '_';
	(void)(append(name, "bytepoll.") && append(name, program) && append(name, ".") &&
		append_pid(name) && append(name, ".bpt"));
}

/* The name given, `%p` being the process id (a restarted service then has a file each time) and
 * `%%` a percent sign. */
static void given_name(char *name, const char *given)
{
	char letter[2] = "";
	for (; *given != '\0'; given++) {
		letter[0] = *given;
		if (given[0] == '%' && given[1] == 'p') {
			(void)append_pid(name);
			given++;
		} else {
			(void)append(name, letter);
			given += given[0] == '%' && given[1] == '%';
		}
	}
}

static void set_base(char **environment, char *base)
{
	const char *given = bp_config_find(environment, BP_ENV_OUTPUT);
	base[0] = '\0';
	if (given == NULL || given[0] != '/') {
		if (syscall(SYS_getcwd, base, BP_PATH_BYTES) < 0 || base[0] != '/')
			base[0] = '\0';
		if (base[1] != '\0')
			(void)append(base, "/");
	}
	if (given != NULL && given[0] != '\0')
		given_name(base, given);
	else
		default_name(base);
}

/* Appends a number to a path that has room. */
static size_t append_number(char *path, size_t length, uint32_t number)
{
	char reversed[12];
	size_t digits = 0;
	for (; number != 0 || digits == 0; number /= 10)
		reversed[digits++] = (char)('0' + number % 10);
	while (digits > 0)
		path[length++] = reversed[--digits];
	return length;
}

void bp_config_trace_name(const char *base, uint32_t pid, uint32_t number, char *ret_name)
{
	size_t length = __builtin_strlen(base);
	__builtin_memcpy(ret_name, base, length);
	__builtin_memcpy(ret_name + length, ".d/", 3);
	length = append_number(ret_name, length + 3, pid);
	ret_name[length++] = '.';
	length = append_number(ret_name, length, number);
	__builtin_memcpy(ret_name + length, ".bpt", 5);
}

/* `N` nanoseconds of the machine's CLOCK_MONOTONIC, or `+N` counted from now; as our own clock has
 * it. */
static bool parse_time(const char *text, uint64_t *ret_time)
{
	uint64_t time, now = 0;
	const bool from_now = text != NULL && *text == '+';
	if (from_now) {
		now = bp_system_time_ns(CLOCK_MONOTONIC);
		text++;
	}
	if (!bp_number_read(text, &time) || __builtin_add_overflow(time, now, &time))
		return false;
	*ret_time = from_now ? time : time + bp_clock_offset_ns();
	return true;
}

/* Notes a variable that is there (an empty one counts as absent) and says nothing. */
static void note(
	struct bp_config *config, enum bp_variable variable, const char *text, bool understood)
{
	if (!understood && text != NULL && *text != '\0')
		config->misread |= 1u << variable;
}

static void read_interval(char **environment, struct bp_config *config)
{
	uint64_t number;
	const char *text = bp_config_find(environment, BP_ENV_INTERVAL);
	config->interval = BP_INTERVAL_DEFAULT;
	config->automatic = text != NULL && __builtin_strcmp(text, "auto") == 0;
	bool good = bp_number_read(text, &number) && number >= 1 && number <= BP_INTERVAL_MAX;
	if (config->automatic)
		config->interval = BP_INTERVAL_FINEST;
	else if (good)
		config->interval = number;
	config->fine_start = !good && !config->automatic;
	note(config, BP_VARIABLE_INTERVAL, text, good || config->automatic);
	text = bp_config_find(environment, BP_ENV_BUDGET);
	good = bp_number_read(text, &number) && number >= 1 && number <= BP_BUDGET_MAX_PPM;
	config->budget_ppm = good ? number : BP_BUDGET_DEFAULT_PPM;
	note(config, BP_VARIABLE_BUDGET, text, good);
}

static void read_start(char **environment, struct bp_config *config)
{
	const char *start = bp_config_find(environment, BP_ENV_START);
	const char *start_time = bp_config_find(environment, BP_ENV_START_TIME);
	const char *stop_time = bp_config_find(environment, BP_ENV_STOP_TIME);
	config->dormant = start != NULL && __builtin_strcmp(start, "dormant") == 0;
	note(config, BP_VARIABLE_START, start, config->dormant);
	config->start_time_ns = config->stop_time_ns = 0;
	note(config, BP_VARIABLE_START_TIME, start_time,
		parse_time(start_time, &config->start_time_ns));
	note(config, BP_VARIABLE_STOP_TIME, stop_time,
		parse_time(stop_time, &config->stop_time_ns));
	config->own_times = (start_time != NULL && *start_time == '+') ||
			    (stop_time != NULL && *stop_time == '+');
}

/* How samples are drawn, and of which process. */
static void read_sampling(char **environment, struct bp_config *config)
{
	uint64_t number = 0;
	const char *seed = bp_config_find(environment, BP_ENV_SEED);
	config->seed_given = bp_number_read(seed, &number);
	config->seed = config->seed_given ? number : 0;
	note(config, BP_VARIABLE_SEED, seed, config->seed_given);
	const char *law = bp_config_find(environment, BP_ENV_LAW);
	bool bernoulli = law != NULL && __builtin_strcmp(law, "bernoulli") == 0;
	config->law = bernoulli ? BP_LAW_BERNOULLI : BP_LAW_EXACT;
	note(config, BP_VARIABLE_LAW, law,
		bernoulli || (law != NULL && __builtin_strcmp(law, "exact") == 0));
	const char *follow = bp_config_find(environment, BP_ENV_FOLLOW_PID);
	bool given = bp_number_read(follow, &number);
	config->follow_pid = given ? (uint32_t)number : 0;
	note(config, BP_VARIABLE_FOLLOW_PID, follow, given);
}

/* A number as the C library reads its own settings (decimal, 0x, 0), up to `end`; false if there is
 * none below
 * 256. */
static bool parse_byte(const char *text, const char *end, uint8_t *ret_byte)
{
	unsigned value = 0, base = 10;
	if (text < end && *text == '0')
		base = text + 1 < end && (text[1] | 32) == 'x' ? 16 : 8;
	text += base == 16 ? 2 : 0;
	if (text >= end)
		return false;
	for (; text < end; text++) {
		const unsigned letter = (unsigned char)*text | 32u;
		const unsigned digit = *text >= '0' && *text <= '9'	? (unsigned)(*text - '0')
				       : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
									: 16;
		value = value * base + digit;
		if (digit >= base || value > 255)
			return false;
	}
	*ret_byte = (uint8_t)value;
	return true;
}

static uint8_t read_perturb(char **environment)
{
	static const char name[] = "glibc.malloc.perturb=";
	const char *text = bp_config_find(environment, "GLIBC_TUNABLES");
	uint8_t byte = 0;
	bool given = false;
	while (text != NULL && *text != '\0') {
		const char *end = __builtin_strchr(text, ':');
		if (end == NULL)
			end = text + __builtin_strlen(text);
		if (__builtin_strncmp(text, name, sizeof name - 1) == 0 &&
			parse_byte(text + sizeof name - 1, end, &byte))
			given = true;
		text = *end == '\0' ? end : end + 1;
	}
	text = bp_config_find(environment, "MALLOC_PERTURB_");
	if (!given && text != NULL)
		(void)parse_byte(text, text + __builtin_strlen(text), &byte);
	return byte;
}

/* False: the text is none of the words. */
static bool read_python(const char *text, uint32_t *ret_wanted)
{
	static const char *const words[] = { "all", "frames", "off" }; /* enum bp_python_wanted */
	*ret_wanted = 0;
	for (uint32_t i = 0; text != NULL && i < 3; i++)
		if (__builtin_strcmp(text, words[i]) == 0) {
			*ret_wanted = i;
			return true;
		}
	return false;
}

/* False: the text is neither word. */
static bool read_switch(const char *text, bool *ret_wanted)
{
	*ret_wanted = text != NULL && __builtin_strcmp(text, "on") == 0;
	return *ret_wanted || (text != NULL && __builtin_strcmp(text, "off") == 0);
}

void bp_config_read(char **environment, struct bp_config *ret_config)
{
	if (environment == NULL)
		environment = environ != NULL ? environ : environment_of_kernel();
	ret_config->misread = 0;
	read_interval(environment, ret_config);
	read_start(environment, ret_config);
	ret_config->perturb = read_perturb(environment);
	read_sampling(environment, ret_config);
	const char *python = bp_config_find(environment, BP_ENV_PYTHON);
	note(ret_config, BP_VARIABLE_PYTHON, python, read_python(python, &ret_config->python));
	const char *mapped = bp_config_find(environment, BP_ENV_MAPPED);
	note(ret_config, BP_VARIABLE_MAPPED, mapped, read_switch(mapped, &ret_config->mapped));
	const char *free_stacks = bp_config_find(environment, BP_ENV_FREE_STACKS);
	note(ret_config, BP_VARIABLE_FREE_STACKS, free_stacks,
		read_switch(free_stacks, &ret_config->free_stacks));
	const char *tracepoints = bp_config_find(environment, BP_ENV_TRACEPOINTS);
	note(ret_config, BP_VARIABLE_TRACEPOINTS, tracepoints,
		bp_tracepoints_configure(tracepoints));
	set_base(environment, ret_config->base);
}

void bp_config_strings(struct bp_trace_header *header, char *to, uintptr_t malloc_address)
{
	char *at = to;
	header->program_length = (uint16_t)bp_executable_path(at, PROGRAM_BYTES);
	at += header->program_length;
	size_t words = bp_system_read_file("/proc/self/cmdline", at, COMMAND_LINE_BYTES);
	if (words > 0 && at[words - 1] == '\0')
		words--;
	header->command_line_length = (uint16_t)words;
	at += words;
	bp_modules_path(malloc_address, at, 512);
	header->allocator_length = (uint16_t)__builtin_strlen(at);
	at += header->allocator_length;
	static const char version[] = "bytepoll " BP_VERSION;
	__builtin_memcpy(at, version, sizeof version - 1);
	header->recorder_version_length = sizeof version - 1;
}
