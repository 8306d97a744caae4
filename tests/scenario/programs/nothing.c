/* SPDX-License-Identifier: MIT */
/* Allocates nothing itself: what is allocated all the same is the loader's. nothing_cpp.cpp: the
 * C++ runtime's, too. */
int main(void)
{
	return 0;
}
