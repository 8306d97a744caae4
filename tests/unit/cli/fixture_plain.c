/* SPDX-License-Identifier: MIT */
/*
 * A program that does nothing: linked as a dynamic and as a static executable, it is what
 * test_program.c judges.
 */
int main(void)
{
	return 0;
}
