// SPDX-License-Identifier: MIT
// A real program's input for `make bench`: what the C++ compiler proper is measured compiling.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> class Shelf {
	std::map<std::string, std::vector<std::string>> books;
	std::function<int(const std::string &)> rank;
	std::stringstream text;

public:
	explicit Shelf(int seed) : rank([seed](const std::string &s) { return int(s.size()) * seed + N; }) {}
	void put(const std::string &key, const std::string &value) { books[key].push_back(value); }
	int sum()
	{
		int total = 0;
		for (auto &entry : books) {
			std::sort(entry.second.begin(), entry.second.end(),
				[this](const std::string &a, const std::string &b) { return rank(a) < rank(b); });
			for (auto &value : entry.second)
				total += rank(value);
			text << entry.first << total;
		}
		return total + int(text.str().size());
	}
};

template <int N> int use(int seed)
{
	Shelf<N> shelf(seed);
	std::unordered_map<int, std::string> names;
	for (int i = 0; i < N; i++)
		names[i] = std::to_string(i);
	for (auto &name : names)
		shelf.put(name.second, name.second + "!");
	return shelf.sum();
}

int main()
{
	int total = use<1>(1) + use<2>(2);
	return total & 1;
}
