/* SPDX-License-Identifier: MIT */
/* Which functions are allocators, and which frame a sample is attributed to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/attribution.h"
#include "small_profile.h"

static void allocators_are_known_by_name(void **state)
{
	static const char *const allocators[] = { "malloc", "calloc", "realloc", "posix_memalign",
		"operator new(unsigned long)", "operator new[](unsigned long, std::align_val_t)",
		"std::allocator<int>::allocate(unsigned long)",
		"std::allocator_traits<A<int> >::allocate(A<int>&, unsigned long)",
		"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
		"std::__new_allocator<char>::allocate(unsigned long, void const*)",
		"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
		"PyObject_Malloc", "_PyObject_Malloc", "PyMem_RawRealloc", "_PyMem_DebugRawAlloc",
		"sqlite3DbMallocRaw", "g_malloc0_n" };
	static const char *const others[] = { "strdup", "getline", "xmalloc", "malloc_rows",
		"my::operator new(unsigned long)", "std::vector<int>::push_back(int&&)",
		"std::allocatorish<int>::f()", "_IO_file_doallocate", "", "program+0x1000",
		"PyList_New", "_PyObject_GC_New", "PyMem_MallocX", "sqlite3VdbeMemGrow", "zmalloc",
		"g_string_new" };
	(void)state;
	for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
		assert_true(bp_is_allocator_name(allocators[i]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(bp_is_allocator_name(others[i]));
}

static void the_innermost_other_frame_is_taken(void **state)
{
	static const struct {
		const char *stack;
		uint32_t index;
	} cases[] = { { "work;main", 0 }, { "malloc;work;main", 1 },
		{ "malloc;operator new(unsigned long);std::allocator<int>::allocate();work;main",
			3 },
		{ "malloc;strdup;main", 1 }, { "malloc;inner@;outer;main", 1 },
		{ "malloc;calloc", 1 } };
	struct bp_profile profile;
	struct bp_attribution attribution;
	struct bp_error error;
	struct bp_stack_id stacks[6];
	(void)state;
	small_init(&profile);
	for (size_t i = 0; i < 6; i++)
		stacks[i] = small_stack(&profile, cases[i].stack);
	assert_true(bp_attribution_init(&attribution, &profile, &error));
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(bp_attribution_index(&attribution, stacks[i]), cases[i].index);
	bp_attribution_finish(&attribution);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocators_are_known_by_name),
		cmocka_unit_test(the_innermost_other_frame_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
