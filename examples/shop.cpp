// SPDX-License-Identifier: MIT
// The program of the README's example: a shop that keeps every session for ever, unless it is built with -DMENDED.
#include <unistd.h>
#include <vector>

struct session {
	char cart[1000];
};

static std::vector<session *> sessions;

static void log_in()
{
	sessions.push_back(new session); // nothing removes it: a leak
}

static void send_page()
{
	delete[] new char[20000]; // freed at once
}

static void log_out()
{
#ifdef MENDED
	delete sessions.back();
	sessions.pop_back();
#endif
}

int main()
{
	std::vector<double> prices(500000);
	for (int visitor = 0; visitor < 20000; visitor++) {
		log_in();
		send_page();
		log_out();
		usleep(50);
	}
	return prices.empty();
}
