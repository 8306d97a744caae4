// SPDX-License-Identifier: MIT
/*
 * Exceptions that pass through frames of the recorder or meet its objects: constructors that throw
 * after allocating (the compiler frees what was allocated for them), arrays whose third element
 * throws, exceptions that own sampled memory, are rethrown, stored, and thrown in other threads,
 * and one from a callback of the C library's (qsort), through frames without handlers.
 */
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

static int alive;

struct part {
	char *memory;
	explicit part(int number) : memory(new char[100])
	{
		if (number % 3 == 2) {
			delete[] memory;
			throw std::runtime_error("part " + std::to_string(number) +
						 " with a text that is too long for the object");
		}
		alive++;
	}
	part() : part(alive)
	{
	}
	~part()
	{
		alive--;
		delete[] memory;
	}
};

struct whole {
	part first, second, third;
	std::vector<int> numbers;
	whole() : first(0), second(1), third(2), numbers(1000)
	{
	}
};

static int throwing_compare(const void *, const void *)
{
	throw std::string(200, 'x');
}

static int caught(int round)
{
	int count = 0;
	try {
		delete new whole;
	} catch (const std::runtime_error &error) {
		CHECK(std::string(error.what()).find("part 2") == 0);
		count++;
	}
	try {
		delete[] new part[10];
	} catch (const std::exception &) {
		count++;
	}
	try {
		std::vector<char> impossible((size_t)1 << 60);
	} catch (const std::bad_alloc &) {
		count++;
	}
	CHECK(new (std::nothrow) char[(size_t)1 << 60] == nullptr);
	int values[3] = { round, 2, 1 };
	try {
		std::qsort(values, 3, sizeof *values, throwing_compare);
	} catch (const std::string &text) {
		count += text.size() == 200;
	}
	return count;
}

int main()
{
	for (int round = 0; round < 200; round++)
		CHECK(caught(round) == 4 && alive == 0);
	for (int i = 0; i < 20; i++) {
		std::exception_ptr stored;
		std::thread([&] {
			try {
				throw std::runtime_error(std::string(300, 'y'));
			} catch (...) {
				stored = std::current_exception();
			}
		}).join();
		try {
			std::rethrow_exception(stored);
		} catch (const std::exception &error) {
			CHECK(std::string(error.what()).size() == 300);
		}
	}
	std::puts("done");
	return 0;
}
