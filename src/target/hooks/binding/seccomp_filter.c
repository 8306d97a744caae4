/* SPDX-License-Identifier: MIT */
/*
 * A seccomp filter is a program of the classic packet filter's over the number and arguments of a
 * system call (linux/seccomp.h, linux/filter.h). To learn what it would do to ours it is run here,
 * for each call that the recorder makes after its start, with the arguments it makes it with
 * (docs/recorder.md lists them, a test compares). Refusing a call with an error is no harm: every
 * failure has its road. Ending the process or raising SIGSYS is.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/attributes.h"
#include "base/system_call.h"
#include "hooks/binding/seccomp.h"
#include "trace/format.h"

#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define DESCRIPTOR 3
#define ADDRESS 0x7f0000001000
#define WHENCE ((uint64_t)(int64_t)AT_FDCWD)

/* `seal`: what is given up when the call is forbidden. */
static const struct call {
	enum bp_seal seal;
	uint32_t number;
	uint64_t arguments[6];
} calls[] = {
	{ BP_SEAL_ALL, SYS_mmap, { 0, 65536, READ_WRITE, ANONYMOUS, UINT64_MAX, 0 } },
	{ BP_SEAL_ALL, SYS_munmap, { ADDRESS, 65536 } },
	{ BP_SEAL_ALL, SYS_madvise, { ADDRESS, 65536, MADV_NOHUGEPAGE } },
	{ BP_SEAL_ALL, SYS_madvise, { ADDRESS, 65536, MADV_DONTNEED } },
	{ BP_SEAL_ALL, SYS_madvise, { ADDRESS, 4096, BP_ADVICE_POPULATE_WRITE } },
	{ BP_SEAL_ALL, SYS_futex, { ADDRESS, FUTEX_WAIT_PRIVATE, 2 } },
	{ BP_SEAL_ALL, SYS_futex, { ADDRESS, FUTEX_WAKE_PRIVATE, 1 } },
	{ BP_SEAL_ALL, SYS_rt_sigprocmask, { UINT32_MAX, ADDRESS, 0, 8 } },
	{ BP_SEAL_ALL, SYS_gettid, { 0 } },
	{ BP_SEAL_ALL, SYS_getpid, { 0 } },
	{ BP_SEAL_ALL, SYS_tgkill, { 1000, 1000, 0 } },
	{ BP_SEAL_ALL, SYS_prctl, { PR_GET_NAME, ADDRESS } },
	{ BP_SEAL_ALL, SYS_clock_gettime, { CLOCK_PROCESS_CPUTIME_ID, ADDRESS } },
	{ BP_SEAL_CHILDREN, SYS_getppid, { 0 } },
	{ BP_SEAL_CHILDREN, SYS_getrandom, { ADDRESS, 16, 1 } },
	{ BP_SEAL_CHILDREN, SYS_openat,
		{ WHENCE, ADDRESS, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600 } },
	{ BP_SEAL_CHILDREN, SYS_mkdirat, { WHENCE, ADDRESS, 0700 } },
	{ BP_SEAL_CHILDREN, SYS_openat,
		{ WHENCE, ADDRESS, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC } },
	{ BP_SEAL_CHILDREN, SYS_geteuid, { 0 } },
	{ BP_SEAL_CHILDREN, SYS_openat,
		{ DESCRIPTOR, ADDRESS, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600 } },
	{ BP_SEAL_CHILDREN, SYS_unlinkat, { WHENCE, ADDRESS, 0 } },
	{ BP_SEAL_CHILDREN, SYS_madvise, { ADDRESS, 4096, MADV_DOFORK } },
	{ BP_SEAL_CHILDREN, SYS_faccessat, { WHENCE, ADDRESS, F_OK } },
	{ BP_SEAL_CHILDREN, SYS_pread64, { DESCRIPTOR, ADDRESS, 64, 0 } },
	{ BP_SEAL_FILES, SYS_openat, { WHENCE, ADDRESS, O_RDWR | O_NOFOLLOW | O_CLOEXEC } },
	{ BP_SEAL_FILES, SYS_fstat, { DESCRIPTOR, ADDRESS } },
	{ BP_SEAL_FILES, SYS_ftruncate, { DESCRIPTOR, BP_CHUNK_BYTES } },
	{ BP_SEAL_FILES, SYS_mmap, { 0, 1 << 26, READ_WRITE, MAP_SHARED, DESCRIPTOR, 0 } },
	{ BP_SEAL_FILES, SYS_madvise, { ADDRESS, 1 << 26, MADV_DONTFORK } },
	{ BP_SEAL_FILES, SYS_madvise, { ADDRESS, 1 << 26, MADV_RANDOM } },
	{ BP_SEAL_FILES, SYS_close, { DESCRIPTOR } },
	{ BP_SEAL_FILES, SYS_prlimit64, { 0, RLIMIT_FSIZE, 0, ADDRESS } },
	{ BP_SEAL_FILES, SYS_newfstatat, { WHENCE, ADDRESS, ADDRESS, 0 } },
	{ BP_SEAL_FILES, SYS_readlinkat, { WHENCE, ADDRESS, ADDRESS, 4095 } },
	{ BP_SEAL_FILES, SYS_openat, { WHENCE, ADDRESS, O_RDONLY | O_CLOEXEC } },
	{ BP_SEAL_FILES, SYS_read, { DESCRIPTOR, ADDRESS, 512 } },
};

/* The linker's name for the start of this object: tells the machine it is of. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

#define STEPS_MAX 100000u /* there are no loops in such a program */
#define MEMORY_WORDS 16u  /* BPF_MEMWORDS */

struct machine {
	uint32_t a, x;
	uint32_t memory[MEMORY_WORDS];
};

/* The word at `offset` of what the filter sees. */
static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word = 0;
	if (offset <= sizeof *data - sizeof word)
		__builtin_memcpy(&word, (const uint8_t *)data + offset, sizeof word);
	return word;
}

static uint32_t value(const struct machine *machine, const struct sock_filter *step,
	const struct seccomp_data *data)
{
	switch (BPF_MODE(step->code)) {
	case BPF_IMM:
		return step->k;
	case BPF_MEM:
		return machine->memory[step->k % MEMORY_WORDS];
	case BPF_LEN:
		return sizeof *data;
	default:
		return load(data, step->k);
	}
}

static uint32_t calculate(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b == 0 ? 0 : a / b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default: /* BPF_NEG */
		return -a;
	}
}

/* How many steps a jump leaves out. */
static uint32_t distance(const struct sock_filter *step, uint32_t a, uint32_t b)
{
	switch (BPF_OP(step->code)) {
	case BPF_JEQ:
		return a == b ? step->jt : step->jf;
	case BPF_JGT:
		return a > b ? step->jt : step->jf;
	case BPF_JGE:
		return a >= b ? step->jt : step->jf;
	case BPF_JSET:
		return (a & b) != 0 ? step->jt : step->jf;
	default: /* BPF_JA */
		return step->k;
	}
}

/* What the filter answers; SECCOMP_RET_ALLOW where it has no answer. */
static uint32_t answer(
	const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
	struct machine machine = { 0 };
	for (size_t at = 0, steps = 0; at < count && steps < STEPS_MAX; at++, steps++) {
		const struct sock_filter *step = &program[at];
		const uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
		switch (BPF_CLASS(step->code)) {
		case BPF_LD:
			machine.a = value(&machine, step, data);
			break;
		case BPF_LDX:
			machine.x = value(&machine, step, data);
			break;
		case BPF_ST:
			machine.memory[step->k % MEMORY_WORDS] = machine.a;
			break;
		case BPF_STX:
			machine.memory[step->k % MEMORY_WORDS] = machine.x;
			break;
		case BPF_ALU:
			machine.a = calculate(BPF_OP(step->code), machine.a, operand);
			break;
		case BPF_JMP:
			at += distance(step, machine.a, operand);
			break;
		case BPF_RET:
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(step->code) == BPF_TAX)
				machine.x = machine.a;
			else
				machine.a = machine.x;
			break;
		}
	}
	return SECCOMP_RET_ALLOW;
}

static bool kills(const struct sock_filter *program, size_t count, const struct call *call)
{
	struct seccomp_data data = { .nr = (int)call->number,
		.arch = __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE | __ehdr_start.e_machine };
	__builtin_memcpy(data.args, call->arguments, sizeof data.args);
	const uint32_t action = answer(program, count, &data) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
	       action == SECCOMP_RET_TRAP;
}

enum bp_seal bp_seccomp_forbids(const struct sock_filter *program, size_t count)
{
	enum bp_seal seal = BP_SEAL_NONE;
	for (size_t i = 0; i < BP_COUNT(calls); i++)
		if (calls[i].seal > seal && kills(program, count, &calls[i]))
			seal = calls[i].seal;
	return seal;
}
