/* SPDX-License-Identifier: MIT */
/*
 * operator new when memory runs out: the new-handler is called as often as without a recorder, may
 * install another or throw, bad_alloc and its kin pass through the hook's frames and are caught,
 * nothrow forms return null, and a handler that finds memory lets the request succeed.
 */
#include <new>
#include <stdexcept>
#include <vector>

#include "check.h"

static int handler_calls;
static volatile std::size_t impossible = PTRDIFF_MAX;

static void counting_handler()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

static void throwing_handler()
{
	throw std::bad_alloc();
}

struct special : std::bad_alloc {
};

static void special_handler()
{
	throw special();
}

template <typename exception, typename function> static bool throws(function action)
{
	try {
		action();
	} catch (const exception &) {
		return true;
	}
	return false;
}

struct alignas(64) aligned_object {
	char bytes[64];
};

static void *request(std::size_t size)
{
	void *pointer = ::operator new(size);
	KEEP(pointer);
	return pointer;
}

static void handlers()
{
	handler_calls = 0;
	std::set_new_handler(counting_handler);
	CHECK(throws<std::bad_alloc>([] { request(impossible); }));
	CHECK(handler_calls == 3 && std::get_new_handler() == nullptr);
	std::set_new_handler(throwing_handler);
	CHECK(throws<std::bad_alloc>([] { request(impossible); }));
	CHECK(::operator new(impossible, std::nothrow) == nullptr);
	CHECK(::operator new[](impossible, std::nothrow) == nullptr);
	std::set_new_handler(special_handler);
	CHECK(throws<special>([] { request(impossible); }));
	CHECK(throws<special>([] { KEEP(::operator new(impossible, std::align_val_t(64))); }));
	std::set_new_handler(nullptr);
	CHECK(throws<std::bad_alloc>([] { KEEP(new char[impossible]); }));
	CHECK(throws<std::bad_alloc>(
		[] { KEEP(::operator new(impossible, std::align_val_t(64))); }));
	CHECK(::operator new(impossible, std::align_val_t(64), std::nothrow) == nullptr);
	CHECK(throws<std::bad_alloc>([] { KEEP(new long[impossible]); }));
	CHECK(throws<std::length_error>([] { std::vector<int>().reserve(impossible); }));
}

static void ordinary()
{
	std::vector<std::vector<int>> table;
	for (int i = 0; i < 200; i++) {
		std::vector<int> row;
		for (int j = 0; j < i; j++)
			row.push_back(j);
		table.push_back(row);
	}
	for (int i = 0; i < 200; i++)
		CHECK(table[i].size() == (std::size_t)i);
	for (int i = 0; i < 300; i++) {
		aligned_object *object = new aligned_object, *array = new aligned_object[3];
		CHECK((uintptr_t)object % 64 == 0 && (uintptr_t)array % 64 == 0);
		delete object;
		delete[] array;
		delete static_cast<char *>(nullptr);
	}
}

int main()
{
	for (int i = 0; i < 20; i++) {
		handlers();
		ordinary();
	}
	puts("done");
	return 0;
}
