/* SPDX-License-Identifier: MIT */
/* Functions full of landing pads, walked from every place that an exception takes a program to. */
#include "walked.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace
{

int walks;

void walk()
{
	walked_here();
	walks++;
}

struct walker {
	std::string text;
	explicit walker(const char *t) : text(t)
	{
		walk();
	}
	~walker()
	{
		walk();
	}
};

__attribute__((noinline)) int thrower(int depth)
{
	walker here("one string that is too long for the short form of strings");
	std::vector<int> numbers(static_cast<size_t>(depth) + 3, depth);
	if (depth == 0)
		throw std::runtime_error("thrown");
	try {
		return thrower(depth - 1) + numbers[1];
	} catch (const std::logic_error &) {
		walk();
		return 1;
	} catch (const std::runtime_error &error) {
		walker inner(error.what());
		if (depth % 2 == 0)
			throw std::logic_error(error.what());
		if (depth == 1)
			throw;
		walk();
	}
	return numbers[2];
}

} // namespace

extern "C" int walked_exceptions(void)
{
	walks = 0;
	for (int depth = 0; depth < 6; depth++) {
		try {
			thrower(depth);
		} catch (const std::exception &) {
			walk();
		}
	}
	return walks;
}
