/* SPDX-License-Identifier: MIT */
/*
 * A program that embeds Lua, for test_lua.py: it runs a script in a state of its own, with the
 * module bytepoll loaded, over an allocator that counts exactly what Lua gets and holds. From the
 * moment that the module was loaded: bytes and objects, by kind, what of them is live when the
 * script has ended, and what older memory was freed.
 *
 *   lua_host [limit=BYTES] [fail=N] [times=N] [threads=N] [plain] [open] [leave] [fork] SCRIPT
 *
 * limit: Lua gets no more than that at a time; fail: every Nth request for more fails once; times:
 * so many states one after the other; threads: so many at once, each in its thread; plain: without
 * the module; open: the last state is not closed; leave: the process exits while the threads run;
 * fork: a child runs the script in a state of its own before the parent does. One line of JSON on
 * standard error for each state.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KINDS 12

static struct {
	size_t limit, fail, times, threads;
	bool plain, open, fork, leave;
	const char *script;
} options = { .times = 1 };

/* Before every block. */
struct __attribute__((aligned(16))) head {
	size_t size;
	bool counted;
};

struct counts {
	bool on;
	size_t in_use, requests, failed;
	size_t bytes, objects, live_bytes, live_objects, old_freed;
	size_t kinds[KINDS];
};

static bool refuses(struct counts *counts, size_t old_size, size_t new_size)
{
	if (new_size <= old_size)
		return false;
	if (options.limit != 0 && counts->in_use - old_size + new_size > options.limit)
		return true;
	return options.fail != 0 && counts->on && ++counts->requests % options.fail == 0;
}

static void forget(struct counts *counts, const struct head *head)
{
	counts->in_use -= head->size;
	if (head->counted) {
		counts->live_bytes -= head->size;
		counts->live_objects--;
	} else if (counts->on) {
		counts->old_freed += head->size;
	}
}

static void *allocate(void *data, void *block, size_t old_size, size_t new_size)
{
	struct counts *counts = data;
	struct head *old = block == NULL ? NULL : (struct head *)block - 1, before = { .size = 0 };
	if (old != NULL)
		before = *old;
	if (old != NULL && before.size != old_size)
		abort(); /* somebody changed what Lua says */
	if (new_size == 0) {
		if (old != NULL)
			forget(counts, old);
		free(old);
		return NULL;
	}
	if (refuses(counts, before.size, new_size)) {
		counts->failed++;
		return NULL;
	}
	struct head *head = realloc(old, sizeof *head + new_size);
	if (head == NULL)
		return NULL;
	if (old != NULL)
		forget(counts, &before);
	*head = (struct head){ .size = new_size, .counted = counts->on };
	counts->in_use += new_size;
	if (counts->on) {
		counts->bytes += new_size;
		counts->objects++;
		counts->live_bytes += new_size;
		counts->live_objects++;
		counts->kinds[block == NULL && old_size < KINDS ? old_size : 0]++;
	}
	return head + 1;
}

static size_t lua_count(lua_State *lua)
{
	return (size_t)lua_gc(lua, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(lua, LUA_GCCOUNTB);
}

static void module_totals(lua_State *lua, long long *ret_bytes, long long *ret_objects)
{
	*ret_bytes = *ret_objects = 0;
	lua_getglobal(lua, "bytepoll");
	if (lua_istable(lua, -1)) {
		lua_getfield(lua, -1, "totals");
		lua_call(lua, 0, 2);
		*ret_bytes = lua_tointeger(lua, -2);
		*ret_objects = lua_tointeger(lua, -1);
	}
	lua_settop(lua, 0);
}

static void print_counts(const struct counts *counts, const long long *base, const long long *end,
	size_t lua_before, size_t lua_after, size_t old_freed)
{
	char kinds[256] = "";
	for (int kind = 0; kind < KINDS; kind++)
		(void)snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s%zu",
			kind == 0 ? "" : ", ", counts->kinds[kind]);
	/* In one piece: another thread may end the process while this one writes. */
	char line[1024];
	const int length = snprintf(line, sizeof line,
		"{\"bytes\": %zu, \"objects\": %zu, \"live_bytes\": %zu, \"live_objects\": %zu, "
		"\"old_freed\": %zu, \"failed\": %zu, \"kinds\": [%s], \"base_bytes\": %lld, "
		"\"base_objects\": %lld, \"end_bytes\": %lld, \"end_objects\": %lld, "
		"\"lua_before\": %zu, \"lua_after\": %zu}\n",
		counts->bytes, counts->objects, counts->live_bytes, counts->live_objects, old_freed,
		counts->failed, kinds, base[0], base[1], end[0], end[1], lua_before, lua_after);
	if (write(STDERR_FILENO, line, (size_t)length) != length)
		exit(2);
}

static int run_script(bool last)
{
	struct counts counts = { .on = false };
	long long base[2], end[2];
	lua_State *lua = lua_newstate(allocate, &counts);
	if (lua == NULL)
		return 2;
	luaL_openlibs(lua);
	int status = 0;
	if (!options.plain) {
		/* As `lua -lbytepoll` does. */
		lua_getglobal(lua, "require");
		lua_pushliteral(lua, "bytepoll");
		if (lua_pcall(lua, 1, 1, 0) != LUA_OK) {
			fprintf(stderr, "%s\n", lua_tostring(lua, -1));
			lua_close(lua);
			return 1;
		}
		lua_setglobal(lua, "bytepoll");
	}
	lua_pushliteral(lua, "totals"); /* so that asking makes nothing new */
	lua_setfield(lua, LUA_REGISTRYINDEX, "kept");
	module_totals(lua, &base[0], &base[1]);
	const size_t lua_before = lua_count(lua);
	counts.on = true;
	if (luaL_loadfile(lua, options.script) != LUA_OK || lua_pcall(lua, 0, 0, 0) != LUA_OK) {
		printf("error: %s\n", luaL_tolstring(lua, -1, NULL));
		status = 1;
	}
	lua_settop(lua, 0);
	const size_t old_freed = counts.old_freed;
	module_totals(lua, &end[0], &end[1]);
	const size_t lua_after = lua_count(lua);
	print_counts(&counts, base, end, lua_before, lua_after, old_freed);
	if (!(last && options.open))
		lua_close(lua);
	return status;
}

static void *run_thread(void *answer)
{
	for (size_t i = 0; i < options.times; i++)
		*(int *)answer |= run_script(false);
	return NULL;
}

static int run_all(void)
{
	pthread_t threads[64];
	int answers[64] = { 0 }, status = 0;
	for (size_t i = 0; i < options.threads && i < 64; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &answers[i]) != 0)
			return 2;
	if (options.leave) {
		(void)usleep(60000);
		exit(5);
	}
	for (size_t i = 0; i < options.threads && i < 64; i++) {
		(void)pthread_join(threads[i], NULL);
		status |= answers[i];
	}
	for (size_t i = 0; options.threads == 0 && i < options.times; i++)
		status |= run_script(i + 1 == options.times);
	return status;
}

int main(int count, char **arguments)
{
	for (int i = 1; i < count; i++) {
		const char *word = arguments[i];
		if (sscanf(word, "limit=%zu", &options.limit) == 1 ||
			sscanf(word, "fail=%zu", &options.fail) == 1 ||
			sscanf(word, "times=%zu", &options.times) == 1 ||
			sscanf(word, "threads=%zu", &options.threads) == 1)
			continue;
		options.plain |= strcmp(word, "plain") == 0;
		options.open |= strcmp(word, "open") == 0;
		options.leave |= strcmp(word, "leave") == 0;
		options.fork |= strcmp(word, "fork") == 0;
		options.script = word;
	}
	if (options.fork) {
		/* A state before the fork, so that the child inherits a trace. */
		int status = run_script(false);
		const pid_t child = fork();
		if (child == 0)
			exit(run_all());
		(void)waitpid(child, NULL, 0);
		return status | run_all();
	}
	return run_all();
}
