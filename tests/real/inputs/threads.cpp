// SPDX-License-Identifier: MIT
// A multi-threaded C++ program: four threads count words into maps, hand strings to one another
// over a queue, and merge; containers grow, exceptions fly, and what came out is printed.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace
{

class queue
{
      public:
	void push(std::unique_ptr<std::string> text)
	{
		std::lock_guard<std::mutex> guard(lock);
		texts.push_back(std::move(text));
		ready.notify_one();
	}

	std::unique_ptr<std::string> pop()
	{
		std::unique_lock<std::mutex> guard(lock);
		ready.wait(guard, [this] { return !texts.empty(); });
		std::unique_ptr<std::string> text = std::move(texts.front());
		texts.pop_front();
		return text;
	}

      private:
	std::mutex lock;
	std::condition_variable ready;
	std::deque<std::unique_ptr<std::string>> texts;
};

using counts = std::map<std::string, unsigned long>;

unsigned long parse(const std::string &word)
{
	if (word.size() % 17 == 0)
		throw std::invalid_argument("odd word " + word);
	return word.size();
}

void consume(queue &from, counts &into)
{
	while (std::unique_ptr<std::string> text = from.pop()) {
		if (text->empty())
			return;
		std::istringstream stream(*text);
		std::unordered_map<std::string, unsigned long> local;
		for (std::string word; stream >> word;)
			try {
				local[word] += parse(word);
			} catch (const std::invalid_argument &error) {
				into[error.what()]++;
			}
		for (const auto &entry : local)
			into[entry.first] += entry.second;
	}
}

} // namespace

int main()
{
	constexpr int threads = 4;
	queue texts;
	std::vector<counts> results(threads);
	std::vector<std::thread> workers;
	for (int i = 0; i < threads; i++)
		workers.emplace_back(consume, std::ref(texts), std::ref(results[i]));
	unsigned seed = 42;
	for (int i = 0; i < 3000; i++) {
		auto text = std::make_unique<std::string>();
		for (int j = 0; j < 60; j++) {
			seed = seed * 1103515245u + 12345u;
			*text += "w" + std::to_string(seed >> 18) + std::string(seed >> 28, 'x') +
				 " ";
		}
		texts.push(std::move(text));
	}
	for (int i = 0; i < threads; i++)
		texts.push(std::make_unique<std::string>());
	counts total;
	for (int i = 0; i < threads; i++) {
		workers[i].join();
		for (const auto &entry : results[i])
			total[entry.first] += entry.second;
	}
	unsigned long checksum = 0;
	for (const auto &entry : total)
		checksum = checksum * 31 + entry.second + entry.first.size();
	std::printf("%zu words, checksum %lu\n", total.size(), checksum);
	return 3;
}
