/* SPDX-License-Identifier: MIT */
/*
 * Verdicts over many keys: the p-values adjusted so that a limit on them is a limit on the share of
 * false alarms among all alarms (Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995):
 *
 *     q of the i-th smallest p = the least of p_j M / j over all j >= i.
 *
 * Sorted by heapsort, in place and without a call into libc's qsort, which may allocate; equal
 * p-values in the order of their keys, so that a report is the same every time.
 */
#include <math.h>
#include <stdbool.h>

#include "estimate/diff.h"

static bool comes_before(const double *p, size_t a, size_t b)
{
	return p[a] < p[b] || (p[a] == p[b] && a < b);
}

/* Moves the root of the heap order[0 .. count) down to where it belongs; the largest is on top. */
static void sift_down(const double *p, size_t *order, size_t root, size_t count)
{
	size_t moved = order[root];
	for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
		if (child + 1 < count && comes_before(p, order[child], order[child + 1]))
			child++;
		if (!comes_before(p, moved, order[child]))
			break;
		order[root] = order[child];
		root = child;
	}
	order[root] = moved;
}

static void sort_by_p(const double *p, size_t count, size_t *order)
{
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t root = count / 2; root > 0; root--)
		sift_down(p, order, root - 1, count);
	for (size_t last = count; last > 1; last--) {
		size_t largest = order[0];
		order[0] = order[last - 1];
		order[last - 1] = largest;
		sift_down(p, order, 0, last - 1);
	}
}

void bp_benjamini_hochberg(const double *p, size_t count, size_t *order, double *ret_q)
{
	double least = 1;
	sort_by_p(p, count, order);
	for (size_t rank = count; rank > 0; rank--) {
		size_t key = order[rank - 1];
		least = fmin(least, p[key] * ((double)count / (double)rank));
		ret_q[key] = least; /* where p[key] may have stood; it is not looked at again */
	}
}
