// SPDX-License-Identifier: MIT
/*
 * Every hooked function of the malloc family with every odd argument. One line is printed for each
 * call that is looked at, `what: outcome`, in which nothing depends on addresses: is there an
 * object, errno, is it aligned, is its usable size at least the request and writable to its end,
 * are contents kept and zeroes zero, or the signal and the C library's last words. Each call is
 * made several times, since only some are sampled; different outcomes of one call are printed side
 * by side. A driver compares the lines with those of a run without the recorder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <set>
#include <string>

namespace
{

constexpr int REPETITIONS = 4;
constexpr int ERRNO_BEFORE = 77;
constexpr size_t LARGE = PTRDIFF_MAX, HUGE_ALIGNMENT = (size_t)1 << 46;
/* Objects up to here are written as a whole, of larger ones so much of both ends. */
constexpr size_t WRITTEN_BYTES = (size_t)1 << 18;

const size_t sizes[] = { 0, 1, 2, 7, 8, 15, 16, 23, 24, 25, 40, 100, 1000, 1032, 1033, 4095, 4096,
	4097, 30000, 65511, 65512, 65513, 65536, 131072, 1 << 20, (size_t)1 << 46, LARGE - 4096,
	LARGE - 1, LARGE, LARGE + 1, SIZE_MAX - 4096, SIZE_MAX - 15, SIZE_MAX - 1, SIZE_MAX };
const size_t alignments[] = { 0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 96, 1000, 4096, 6144,
	65536, (size_t)1 << 20, ((size_t)1 << 20) + 8, (size_t)1 << 31, (size_t)1 << 32,
	HUGE_ALIGNMENT, HUGE_ALIGNMENT + 1, (size_t)1 << 47, (size_t)1 << 62, (size_t)1 << 63,
	((size_t)1 << 63) + 1, SIZE_MAX };
const size_t counts[] = { 0, 1, 3, 24, 1000, (size_t)1 << 32, LARGE, LARGE + 1, SIZE_MAX };

void *libc;
void *kept; /* the compiler must not see through an object */

std::string number(size_t value)
{
	char text[32];
	if (value > (size_t)1 << 32 && (value & 0xffff) != 0 && value < LARGE - 4096)
		snprintf(text, sizeof text, "2^%d+%zu", 63 - __builtin_clzl(value), value & 0xffff);
	else
		snprintf(text, sizeof text, value > (size_t)1 << 32 ? "%#zx" : "%zu", value);
	return text;
}

/* A function of the C library by its name; NULL where this one has none, whatever the recorder
 * has. */
template <typename function> function find(const char *name)
{
	return (function)(dlsym(libc, name) == nullptr ? nullptr : dlsym(RTLD_DEFAULT, name));
}

void tell(const std::string &what, const std::set<std::string> &outcomes)
{
	std::string line = what + ":";
	for (const std::string &outcome : outcomes)
		line += (outcome == *outcomes.begin() ? " " : " | ") + outcome;
	puts(line.c_str());
}

/* ---- what became of a request ---- */

struct request {
	size_t size, alignment; /* what the object must have */
	bool zeroed;
};

void write(unsigned char *object, size_t bytes)
{
	const size_t part = bytes < WRITTEN_BYTES ? bytes : WRITTEN_BYTES;
	memset(object, 0xa5, part);
	memset(object + bytes - part, 0xa5, part);
	kept = object;
}

/* Does this begin with nothing else? */
bool all(const unsigned char *object, size_t bytes, unsigned char value)
{
	bytes = bytes < WRITTEN_BYTES ? bytes : WRITTEN_BYTES;
	for (size_t i = 0; i < bytes; i++)
		if (object[i] != value)
			return false;
	return true;
}

std::string look(void *object, int error, const request &request)
{
	std::string outcome = object == nullptr ? "NULL" : "object";
	outcome += error == ERRNO_BEFORE ? "" : ", errno " + std::to_string(error);
	if (object == nullptr)
		return outcome;
	const size_t usable = malloc_usable_size(object);
	if ((uintptr_t)object % 16 != 0 || (request.alignment & (request.alignment - 1)) != 0 ||
		(request.alignment != 0 && (uintptr_t)object % request.alignment != 0))
		outcome += ", alignment differs";
	if (usable < request.size || malloc_usable_size(object) != usable)
		outcome += ", usable size is too small";
	if (request.zeroed && !all((unsigned char *)object, request.size, 0))
		outcome += ", not zero";
	write((unsigned char *)object, usable);
	return outcome;
}

/* Memory that was written to lies ready, so that what must be cleared is not clear by chance. */
void leave_dirt(size_t size)
{
	if (size > 1 << 20)
		return;
	void *object = malloc(size);
	if (object != nullptr)
		write((unsigned char *)object, malloc_usable_size(object));
	free(object);
}

size_t rounded(size_t alignment)
{
	size_t up = 1;
	while (up < alignment && up != 0)
		up *= 2;
	return up;
}

/* ---- functions that make objects ---- */

/* All take (first, size): a count, an alignment, or nothing that matters. */
using maker = void *(*)(size_t first, size_t size);
int returned; /* by posix_memalign */

template <typename action> void *caught(action make)
{
	try {
		return make();
	} catch (const std::bad_alloc &) {
		errno = ERRNO_BEFORE; /* which the operators promise nothing about */
		return nullptr;
	}
}

std::align_val_t align(size_t alignment)
{
	return (std::align_val_t)alignment;
}

void *by_posix_memalign(size_t alignment, size_t size)
{
	void *object = &returned;
	returned = posix_memalign(&object, alignment, size);
	if (returned != 0 && object != &returned)
		puts("posix_memalign: changed its pointer though it failed");
	return returned != 0 ? nullptr : object;
}

const std::nothrow_t &nothrow = std::nothrow;

struct made_by {
	const char *name;
	const char *symbol; /* of the C library, which may have none; nullptr: always there */
	maker make;
	void (*end)(void *object, size_t alignment);
};

void *(*libc_malloc)(size_t), *(*libc_valloc)(size_t), *(*libc_pvalloc)(size_t);
void *(*libc_calloc)(size_t, size_t), *(*libc_memalign)(size_t, size_t),
	*(*libc_realloc)(void *, size_t);

void by_free(void *object, size_t)
{
	free(object);
}

void by_delete(void *object, size_t)
{
	operator delete(object);
}

void by_delete_aligned(void *object, size_t alignment)
{
	operator delete(object, align(alignment));
}

const made_by plain[] = {
	{ "malloc", nullptr, [](size_t, size_t size) { return malloc(size); }, by_free },
	{ "valloc", nullptr, [](size_t, size_t size) { return valloc(size); }, by_free },
	{ "pvalloc", nullptr, [](size_t, size_t size) { return pvalloc(size); }, by_free },
	{ "realloc(NULL)", nullptr, [](size_t, size_t size) { return realloc(nullptr, size); },
		by_free },
	{ "__libc_malloc", "__libc_malloc", [](size_t, size_t size) { return libc_malloc(size); },
		by_free },
	{ "__libc_valloc", "__libc_valloc", [](size_t, size_t size) { return libc_valloc(size); },
		by_free },
	{ "__libc_pvalloc", "__libc_pvalloc",
		[](size_t, size_t size) { return libc_pvalloc(size); }, by_free },
	{ "__libc_realloc(NULL)", "__libc_realloc",
		[](size_t, size_t size) { return libc_realloc(nullptr, size); }, by_free },
	{ "new", nullptr,
		[](size_t, size_t size) { return caught([=] { return operator new(size); }); },
		by_delete },
	{ "new[]", nullptr,
		[](size_t, size_t size) { return caught([=] { return operator new[](size); }); },
		[](void *object, size_t) { operator delete[](object); } },
	{ "new, nothrow", nullptr, [](size_t, size_t size) { return operator new(size, nothrow); },
		[](void *object, size_t) { operator delete(object, nothrow); } },
	{ "new[], nothrow", nullptr,
		[](size_t, size_t size) { return operator new[](size, nothrow); },
		[](void *object, size_t) { operator delete[](object, nothrow); } },
};

const made_by counted[] = {
	{ "calloc", nullptr, [](size_t count, size_t size) { return calloc(count, size); },
		by_free },
	{ "__libc_calloc", "__libc_calloc",
		[](size_t count, size_t size) { return libc_calloc(count, size); }, by_free },
	{ "reallocarray(NULL)", nullptr,
		[](size_t count, size_t size) { return reallocarray(nullptr, count, size); },
		by_free },
};

const made_by aligned[] = {
	{ "memalign", nullptr, memalign, by_free },
	{ "aligned_alloc", nullptr, aligned_alloc, by_free },
	{ "posix_memalign", nullptr, by_posix_memalign, by_free },
	{ "__libc_memalign", "__libc_memalign",
		[](size_t alignment, size_t size) { return libc_memalign(alignment, size); },
		by_free },
	{ "new, aligned", nullptr,
		[](size_t alignment, size_t size) {
			return caught([=] { return operator new(size, align(alignment)); });
		},
		by_delete_aligned },
	{ "new[], aligned", nullptr,
		[](size_t alignment, size_t size) {
			return caught([=] { return operator new[](size, align(alignment)); });
		},
		[](void *object, size_t alignment) {
			operator delete[](object, align(alignment));
		} },
	{ "new, aligned, nothrow", nullptr,
		[](size_t alignment, size_t size) {
			return operator new(size, align(alignment), nothrow);
		},
		[](void *object, size_t alignment) {
			operator delete(object, align(alignment), nothrow);
		} },
	{ "new[], aligned, nothrow", nullptr,
		[](size_t alignment, size_t size) {
			return operator new[](size, align(alignment), nothrow);
		},
		[](void *object, size_t alignment) {
			operator delete[](object, align(alignment), nothrow);
		} },
};

void make(const made_by &by, const std::string &what, size_t first, size_t size,
	const request &request)
{
	std::set<std::string> outcomes;
	if (by.symbol != nullptr && find<void *>(by.symbol) == nullptr)
		return tell(what, { "this C library has none" });
	for (int i = 0; i < REPETITIONS; i++) {
		leave_dirt(request.size);
		returned = 0;
		errno = ERRNO_BEFORE;
		void *object = by.make(first, size);
		const int error = errno;
		const int code = returned;
		kept = object;
		outcomes.insert(look(object, error, request) +
				(code == 0 ? "" : ", returned " + std::to_string(code)));
		errno = ERRNO_BEFORE;
		if (object != nullptr)
			by.end(object, first);
		if (errno != ERRNO_BEFORE)
			outcomes.insert("its free changes errno");
	}
	tell(what, outcomes);
}

void all_makers()
{
	for (const made_by &by : plain)
		for (size_t size : sizes)
			make(by, std::string(by.name) + "(" + number(size) + ")", 0, size,
				{ size, strstr(by.name, "valloc") != nullptr ? 4096u : 0u, false });
	for (const made_by &by : counted)
		for (size_t count : counts)
			for (size_t size : sizes)
				make(by,
					std::string(by.name) + "(" + number(count) + ", " +
						number(size) + ")",
					count, size,
					{ count * size, 0, strstr(by.name, "calloc") != nullptr });
	for (const made_by &by : aligned)
		for (size_t alignment : alignments)
			for (size_t size : sizes)
				make(by,
					std::string(by.name) + "(" + number(alignment) + ", " +
						number(size) + ")",
					alignment, size, { size, rounded(alignment), false });
}

/* ---- realloc ---- */

using resizer = void *(*)(void *object, size_t size);

std::string resize(resizer function, size_t from, size_t to)
{
	auto *object = (unsigned char *)malloc(from);
	if (object == nullptr)
		return "no object to begin with";
	write(object, malloc_usable_size(object));
	errno = ERRNO_BEFORE;
	auto *result = (unsigned char *)function(object, to);
	const int error = errno;
	kept = result;
	const size_t same = from < to ? from : to;
	std::string outcome;
	if (result == nullptr && to != 0) {
		outcome = all(object, from, 0xa5) && malloc_usable_size(object) >= from
				  ? ""
				  : ", the old one is damaged";
		free(object);
	} else if (result != nullptr && !all(result, same, 0xa5)) {
		outcome = ", contents are lost";
	}
	outcome = look(result, error, { to, 0, false }) + outcome;
	free(result);
	return outcome;
}

void all_resizers()
{
	static const struct {
		const char *name;
		resizer function;
	} resizers[] = { { "realloc", realloc }, { "__libc_realloc", libc_realloc },
		{ "reallocarray of 1",
			[](void *object, size_t size) { return reallocarray(object, 1, size); } },
		{ "reallocarray of 4",
			[](void *object, size_t size) { return reallocarray(object, size, 4); } } };
	for (const auto &by : resizers)
		for (size_t from : sizes)
			for (size_t to : sizes) {
				std::set<std::string> outcomes;
				if (from > 1 << 20 || by.function == nullptr)
					continue;
				for (int i = 0; i < REPETITIONS; i++)
					outcomes.insert(resize(by.function, from, to));
				tell(std::string(by.name) + " from " + number(from) + " to " +
						number(to),
					outcomes);
			}
}

/* ---- free ---- */

void (*libc_free)(void *), (*libc_cfree)(void *), (*free_by_size)(void *, size_t);
void (*free_by_both)(void *, size_t, size_t);

const struct {
	const char *name, *symbol;
	void (*end)(void *object, size_t size);
} ends[] = {
	{ "free", "free", [](void *object, size_t) { free(object); } },
	{ "__libc_free", "__libc_free", [](void *object, size_t) { libc_free(object); } },
	{ "cfree", "cfree", [](void *object, size_t) { libc_cfree(object); } },
	{ "free_sized", "free_sized",
		[](void *object, size_t size) { free_by_size(object, size); } },
	{ "free_aligned_sized", "free_aligned_sized",
		[](void *object, size_t size) { free_by_both(object, 16, size); } },
	{ "delete", "free", [](void *object, size_t) { operator delete(object); } },
	{ "delete, sized", "free",
		[](void *object, size_t size) { operator delete(object, size); } },
	{ "delete[], sized", "free",
		[](void *object, size_t size) { operator delete[](object, size); } },
};

void all_ends()
{
	for (const auto &by : ends) {
		if (find<void *>(by.symbol) == nullptr) {
			tell(by.name, { "this C library has none" });
			continue;
		}
		by.end(nullptr, 0);
		for (size_t size : sizes) {
			std::set<std::string> outcomes;
			for (int i = 0; i < REPETITIONS && size <= 1 << 20; i++) {
				void *object = aligned_alloc(16, size);
				kept = object;
				errno = ERRNO_BEFORE;
				by.end(object, size);
				outcomes.insert(errno == ERRNO_BEFORE ? "freed" : "errno changed");
			}
			if (size <= 1 << 20)
				tell(std::string(by.name) + " of " + number(size), outcomes);
		}
	}
	tell("malloc_usable_size(NULL)", { std::to_string(malloc_usable_size(nullptr)) });
}

/* ---- pointers that are not objects ---- */

/* How a child ends that does something wrong: its signal, and what is printed of it. */
std::string child(void (*wrong)(void *pointer), void *pointer)
{
	int pipes[2];
	char text[300] = "";
	fflush(stdout);
	if (pipe(pipes) != 0)
		return "no pipe";
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 2);
		alarm(20);
		wrong(pointer);
		_exit(0);
	}
	close(pipes[1]);
	size_t length = 0;
	ssize_t got;
	while (length < sizeof text - 1 &&
		(got = read(pipes[0], text + length, sizeof text - 1 - length)) > 0)
		length += (size_t)got;
	close(pipes[0]);
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return "no child";
	text[strcspn(text, "\n")] = '\0';
	return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + ", " + text
				   : "survives";
}

alignas(64) uint64_t block[64];

const struct {
	const char *name;
	void *(*pointer)();
} strangers[] = {
	{ "a block that says 0", [] { return (void *)&block[8]; } },
	{ "a block that says 33",
		[] {
			block[15] = 0x21;
			return (void *)&block[16];
		} },
	{ "a block that is odd",
		[] {
			block[23] = 0x21;
			return (void *)((char *)&block[24] + 8);
		} },
	{ "a block that says 2^62",
		[] {
			block[31] = (size_t)1 << 62;
			return (void *)&block[32];
		} },
	{ "a block that says all",
		[] {
			block[39] = SIZE_MAX;
			return (void *)&block[40];
		} },
	{ "a block that says 2^63",
		[] {
			block[47] = (size_t)1 << 63;
			return (void *)&block[48];
		} },
	{ "the middle of an object", [] { return (void *)((char *)calloc(1, 200) + 64); } },
	{ "an odd place in an object", [] { return (void *)((char *)calloc(1, 200) + 40 + 4); } },
	{ "a large object's middle", [] { return (void *)((char *)calloc(1, 100000) + 64); } },
};

const struct {
	const char *name;
	void (*function)(void *);
} wrongs[] = {
	{ "free", [](void *pointer) { free(pointer); } },
	{ "realloc to 0", [](void *pointer) { kept = realloc(pointer, 0); } },
	{ "realloc to 100", [](void *pointer) { kept = realloc(pointer, 100); } },
	{ "realloc to 2000", [](void *pointer) { kept = realloc(pointer, 2000); } },
	{ "realloc to 100000", [](void *pointer) { kept = realloc(pointer, 100000); } },
};

void all_strangers()
{
	for (const auto &wrong : wrongs)
		for (const auto &stranger : strangers) {
			std::set<std::string> outcomes;
			for (int i = 0; i < REPETITIONS; i++)
				outcomes.insert(child(wrong.function, stranger.pointer()));
			tell(std::string(wrong.name) + " of " + stranger.name, outcomes);
		}
	for (size_t size : { 1, 24, 100, 1000, 65512, 200000 }) {
		std::set<std::string> outcomes;
		for (int i = 0; i < REPETITIONS; i++)
			outcomes.insert(child(
				[](void *pointer) {
					free(pointer);
					kept = pointer;
					free(kept);
				},
				malloc(size)));
		tell("free twice of " + number(size), outcomes);
	}
}

} // namespace

int main()
{
	libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	if (libc == nullptr)
		return 1;
	libc_malloc = find<void *(*)(size_t)>("__libc_malloc");
	libc_valloc = find<void *(*)(size_t)>("__libc_valloc");
	libc_pvalloc = find<void *(*)(size_t)>("__libc_pvalloc");
	libc_calloc = find<void *(*)(size_t, size_t)>("__libc_calloc");
	libc_memalign = find<void *(*)(size_t, size_t)>("__libc_memalign");
	libc_realloc = find<void *(*)(void *, size_t)>("__libc_realloc");
	libc_free = find<void (*)(void *)>("__libc_free");
	libc_cfree = find<void (*)(void *)>("cfree");
	free_by_size = find<void (*)(void *, size_t)>("free_sized");
	free_by_both = find<void (*)(void *, size_t, size_t)>("free_aligned_sized");
	all_makers();
	all_resizers();
	all_ends();
	all_strangers();
	return 0;
}
