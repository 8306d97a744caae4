// SPDX-License-Identifier: MIT
/*
 * The program whose recordings the corpus of command lines reads: orders are read by two threads,
 * kept, grown and partly thrown away, and a child process prints some.
 *
 *   shop ORDERS [keep|child|map]     `keep` keeps twice as many, `map` maps much more; `child` is
 *   the child
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bytepoll/bytepoll.h>

#define MAP_BYTES (96u << 20)

struct order {
	struct order *next;
	char *text;
	uint64_t *prices;
	size_t price_count;
};

struct shop {
	struct order *orders;
	unsigned seed;
	size_t order_count, keep_every;
	const char *tenant;
};

static unsigned draw(struct shop *shop, unsigned below)
{
	shop->seed = shop->seed * 1103515245 + 12345;
	return (shop->seed >> 8) % below;
}

static inline __attribute__((always_inline)) char *copy_text(const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1);
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	return copy;
}

__attribute__((noinline)) char *parse_text(struct shop *shop)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz";
	return copy_text(letters, 8 + draw(shop, 40));
}

__attribute__((noinline)) void add_price(struct order *order, uint64_t price)
{
	order->prices = realloc(order->prices, (order->price_count + 1) * sizeof *order->prices);
	order->prices[order->price_count++] = price;
}

/* A name of C++. */
void drop_order(struct order *order) __asm__("_ZN4shop10collectionISt6vectorIcSaIcEEE4dropEPS3_");

__attribute__((noinline)) void drop_order(struct order *order)
{
	free(order->text);
	free(order->prices);
	free(order);
}

__attribute__((noinline)) struct order *parse_order(struct shop *shop)
{
	struct order *order = calloc(1, sizeof *order);
	order->text = parse_text(shop);
	for (unsigned i = 0, count = 1 + draw(shop, 12); i < count; i++)
		add_price(order, draw(shop, 1000));
	return order;
}

__attribute__((noinline)) void log_line(struct shop *shop)
{
	free(malloc(100 + draw(shop, 400)));
}

void build_report(struct shop *shop, unsigned depth) __asm__(
	"_ZN4shop5pagesIN3std6stringEE5buildEjRKS2_");

__attribute__((noinline)) void build_report(struct shop *shop, unsigned depth)
{
	void *page = malloc(3000 + draw(shop, 9000));
	if (depth > 0)
		build_report(shop, depth - 1);
	free(page);
}

static void *serve(void *argument)
{
	struct shop *shop = argument;
	uint32_t before;
	const struct timespec pause = { 0, 10000000 };
	bp_tag_push("tenant", shop->tenant, &before);
	for (size_t i = 0; i < shop->order_count; i++) {
		struct order *order = parse_order(shop);
		log_line(shop);
		if (i % shop->keep_every == 0) {
			order->next = shop->orders;
			shop->orders = order;
		} else {
			drop_order(order);
		}
		if (i % 500 == 0)
			build_report(shop, 5);
		if (i % 50 == 0)
			nanosleep(&pause, NULL);
	}
	bp_tag_pop(before);
	return NULL;
}

int main(int count, char **arguments)
{
	const size_t orders = strtoul(arguments[1], NULL, 10);
	const int child = count > 2 && strcmp(arguments[2], "child") == 0;
	const int keep = count > 2 && strcmp(arguments[2], "keep") == 0;
	struct shop shops[2] = {
		{ .seed = 1, .order_count = orders, .keep_every = keep ? 2 : 4, .tenant = "first" },
		{ .seed = 2,
			.order_count = orders / 2,
			.keep_every = 8,
			.tenant = "second \"\xc3\xa9\" <b> \\" }
	};
	const int map = count > 2 && strcmp(arguments[2], "map") == 0;
	pthread_t thread;
	if (map)
		memset(mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0),
			1, MAP_BYTES);
	char *cache = calloc(1, 300000);
	memset(cache, 1, 300000);
	if (!child) {
		pid_t pid = fork();
		if (pid == 0) {
			execl(arguments[0], arguments[0], "400", "child", (char *)NULL);
			_exit(1);
		}
		pthread_create(&thread, NULL, serve, &shops[1]);
		pthread_setname_np(thread, "se\"cond");
		serve(&shops[0]);
		pthread_join(thread, NULL);
		waitpid(pid, NULL, 0);
	} else {
		free(cache);
		serve(&shops[0]);
	}
	return 0;
}
