// SPDX-License-Identifier: MIT
// operators OPERATIONS: operator new and sized operator delete of 64 bytes, by direct calls (which no
// compiler may leave out). Its instructions are counted, not its time.
#include <cstdlib>
#include <new>

int main(int count, char **words)
{
	unsigned long long operations = count == 2 ? std::strtoull(words[1], nullptr, 10) : 0;
	for (unsigned long long i = 0; i < operations; i++) {
		void *object = ::operator new(64);
		*static_cast<volatile char *>(object) = 1;
		::operator delete(object, static_cast<std::size_t>(64));
	}
	return 0;
}
