// SPDX-License-Identifier: MIT
// The library from C++11: handles in unique_ptr, structs cleared and filled. Prints the rows of a profile,
// one "NAME<tab>ESTIMATE" a line, in the locale of its environment. Usage: from_cpp FILE [FILTER]
#include <bytepoll/analysis.h>

#include <clocale>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace
{

struct Closer {
	void operator()(bytepoll_profile *profile) const
	{
		bytepoll_close(profile);
	}
	void operator()(bytepoll_table *table) const
	{
		bytepoll_table_close(table);
	}
};

std::unique_ptr<bytepoll_profile, Closer> open_profile(const char *file)
{
	bytepoll_error error;
	std::unique_ptr<bytepoll_profile, Closer> profile(bytepoll_open(&file, 1, nullptr, &error));
	if (!profile)
		throw std::runtime_error(error.text);
	return profile;
}

std::unique_ptr<bytepoll_table, Closer> aggregate(
	bytepoll_profile *profile, const std::string &metric, const char *filter)
{
	bytepoll_error error;
	bytepoll_query query;
	BYTEPOLL_CLEAR(query);
	query.metric = metric.c_str();
	query.filters = &filter;
	query.filter_count = filter != nullptr ? 1 : 0;
	std::unique_ptr<bytepoll_table, Closer> table(bytepoll_aggregate(profile, &query, &error));
	if (!table)
		throw std::runtime_error(error.text);
	return table;
}

} // namespace

int main(int count, char **words)
try {
	bytepoll_row row;
	BYTEPOLL_CLEAR(row);
	if (count < 2 || count > 3)
		return 2;
	std::setlocale(LC_ALL, "");
	auto table = aggregate(open_profile(words[1]).get(), "allocated", words[2]);
	for (uint32_t i = 0; bytepoll_table_row(table.get(), i, &row); i++)
		std::printf("%s\t%.17g\n", row.name, row.bytes.estimate);
	return 0;
} catch (const std::exception &failure) {
	std::fprintf(stderr, "%s\n", failure.what());
	return 1;
}
