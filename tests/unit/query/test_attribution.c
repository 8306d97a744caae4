/* SPDX-License-Identifier: MIT */
/* Which functions are allocators, and which frame a sample is attributed to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "model/names/allocators.h"
#include "query/attribution.h"
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
		("std::__detail::_Hashtable_alloc<std::allocator<int> "
		 ">::_M_allocate_node<int>(int&&)"),
		"strdup", "__GI___strdup", "__strndup", "__GI___getdelim", "getline", "asprintf",
		"__vasprintf_internal", "wcsdup", "xstrdup", "g_strdup_printf", "xmalloc",
		"xcalloc", "zmalloc", "zmalloc_usable", "ngx_palloc", "luaM_realloc_",
		"alloc::raw_vec::RawVec<T,A>::grow_one", "__rust_alloc", "PyObject_Malloc",
		"_PyObject_Malloc", "PyMem_RawRealloc", "_PyMem_DebugRawAlloc",
		"sqlite3DbMallocRaw", "g_malloc0_n", "alloc::alloc::Global::alloc_impl_runtime",
		"<alloc::alloc::Global>::grow_impl_runtime", "alloc::alloc::Global::alloc_impl",
		"<alloc::raw_vec::RawVecInner>::finish_grow", "alloc::raw_vec::finish_grow",
		"<alloc::raw_vec::RawVecInner<_>>::reserve::do_reserve_and_handle::<alloc::alloc::"
		"Global>",
		"std::sys::alloc::unix::<impl core::alloc::global::GlobalAlloc for "
		"std::alloc::System>::alloc",
		"std::sys::alloc::unix::aligned_malloc", "__rustc::__rust_alloc",
		"__rustc::__rdl_realloc", "hashbrown::raw::alloc::inner::do_alloc",
		"<mimalloc::MiMalloc as core::alloc::global::GlobalAlloc>::alloc", "jv_mem_alloc",
		"jv_mem_realloc", "yyrealloc", "valkey_calloc", "_PyObject_MiMalloc",
		"tracemalloc_raw_realloc", "PyDataMem_UserNEW", "pcache1Alloc", "g_rc_box_alloc0",
		"CRYPTO_secure_zalloc", "OPENSSL_malloc", "_objalloc_alloc", "bfd_zalloc",
		"GenerationAllocFromNewBlock", "palloc_aligned", "pqResultAlloc", "alloc_root",
		"lj_mem_newgco", "v8::internal::AllocAtLeastWithRetry(unsigned long)",
		"v8::internal::Malloced::operator new(unsigned long)",
		"v8::internal::Zone::NewExpand(unsigned long)",
		"node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long)",
		"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned "
		"long)",
		"QArrayData::allocate1(QArrayData**, long long, QArrayData::AllocationOption)" };
	static const char *const others[] = { "fopen", "realpath", "strdupa", "vfprintf",
		"malloc_rows", "my::operator new(unsigned long)",
		"std::vector<int>::push_back(int&&)", "std::allocatorish<int>::f()",
		"_IO_file_doallocate", "", "program+0x1000", "PyList_New", "_PyObject_GC_New",
		"PyMem_MallocX", "sqlite3VdbeMemGrow", "zmalloc_used", "g_string_new",
		"alloc::vec::Vec<T>::push", "__rustc::rust_begin", "std::sys::args::imp",
		"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
		"alloc::collections::vec_deque::VecDeque<T,A>::grow", "jv_mem_strdup",
		"jv_mem_uninit_setup", "yylex", "CRYPTO_memdup", "CRYPTO_strndup", "BIO_new",
		"Perl_more_sv", "Perl_sv_grow", "PyType_GenericAlloc", "objalloc_create", "concat",
		"AllocSetContextCreateInternal", "pqResultStrdup", "xmlNewDocNode", "dictAddRaw",
		"v8::internal::BackingStore::Allocate(v8::internal::Isolate*, unsigned long)",
		"v8::internal::ZoneList<int>::Resize(int)",
		"llvm::SmallVectorImpl<int>::assign()" };
	(void)state;
	for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
		assert_true(bp_allocators_hold(NULL, allocators[i]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(bp_allocators_hold(NULL, others[i]));
}

static void the_innermost_other_frame_is_taken(void **state)
{
	static const struct {
		const char *stack;
		uint32_t index;
	} cases[] = { { "work;main", 0 }, { "malloc;work;main", 1 },
		{ "malloc;operator new(unsigned long);std::allocator<int>::allocate();work;main",
			3 },
		{ "malloc;__GI___strdup;main", 2 }, { "malloc;fopen;main", 1 },
		{ "malloc;_IO_file_doallocate;__vfprintf_internal;printf;main", 1 },
		{ "malloc;inner@;outer;main", 1 }, { "malloc;calloc", 1 } };
	struct bp_profile profile;
	struct bp_attribution attribution;
	struct bp_error error;
	struct bp_stack_id stacks[8];
	(void)state;
	small_init(&profile);
	for (size_t i = 0; i < 8; i++)
		stacks[i] = small_stack(&profile, cases[i].stack);
	assert_true(bp_attribution_init(&attribution, &profile, &error));
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(bp_attribution_index(&attribution, stacks[i]), cases[i].index);
	bp_attribution_finish(&attribution);
	bp_profile_finish(&profile);
}

static void the_user_adds_names_or_wants_none(void **state)
{
	struct bp_allocators mine = { 0 }, none = { .none = true };
	struct bp_error error;
	(void)state;
	assert_true(bp_allocators_add(&mine, "pool_.*|alloc", &error));
	assert_true(bp_allocators_add(&mine, "Arena::allocate\\(.*\\)", &error));
	assert_false(bp_allocators_add(&mine, "(", &error));
	assert_non_null(strstr(error.text, "(: is no regular expression"));
	assert_false(bp_allocators_add(&mine, "", &error));
	static const char *const held[] = { "malloc", "pool_get", "pool_", "alloc",
		"Arena::allocate(unsigned long)" };
	static const char *const others[] = { "my_pool_get", "allocate", "Arena::allocate", "" };
	for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
		assert_true(bp_allocators_hold(&mine, held[i]));
		assert_false(bp_allocators_hold(&none, held[i]));
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(bp_allocators_hold(&mine, others[i]));
	bp_allocators_finish(&mine);
}

/* What pprof drops is what the report skips: the expression holds the same whole names. */
static void the_expression_is_of_the_same_names(void **state)
{
	static const char *const held[] = { "malloc", "__GI___strdup", "zmalloc_usable",
		"operator new", "std::allocator<int>::allocate", "mine",
		"alloc::raw_vec::RawVec<T,A>::grow_one",
		"<alloc::alloc::Global>::grow_impl_runtime",
		"<alloc::raw_vec::RawVecInner>::finish_grow",
		"std::sys::alloc::unix::aligned_malloc", "__rustc::__rdl_alloc", "jv_mem_calloc",
		"v8::internal::AlignedAllocWithRetry", "llvm::SmallVectorBase::grow_pod",
		"llvm::SmallVectorBase<unsigned int>::mallocForGrow", "QArrayData::allocate",
		"runtime.mallocgc", "strings.(*Builder).grow",
		"<mimalloc::MiMalloc as core::alloc::global::GlobalAlloc>::realloc" };
	static const char *const others[] = { "mallocs", "strdupa", "zmalloc_used",
		"__vfprintf_internal", "std::vector::push_back", "main", "jv_mem_strdup",
		"v8::internal::Zone::Newer", "llvm::SmallVectorImpl::assign", "runtime_mallocgc",
		"runtime.mallocgc2", "strings.Builder.grow" };
	struct bp_allocators mine = { 0 };
	struct bp_error error;
	char *text = NULL, whole[32768];
	size_t bytes = 0;
	regex_t expression;
	(void)state;
	assert_true(bp_allocators_add(&mine, "m.ne", &error));
	FILE *out = open_memstream(&text, &bytes);
	bp_allocators_write_expression(&mine, out);
	fclose(out);
	assert_true((size_t)snprintf(whole, sizeof whole, "^(%s)$", text) < sizeof whole);
	assert_int_equal(regcomp(&expression, whole, REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		assert_int_equal(regexec(&expression, held[i], 0, NULL, 0), 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_int_not_equal(regexec(&expression, others[i], 0, NULL, 0), 0);
	regfree(&expression);
	free(text);
	bp_allocators_finish(&mine);
}

/* In a stripped library what is below an allocation function has no name: names with a plus are
 * such. */
static void nameless_frames_of_an_allocator_are_its_own(void **state)
{
	static const struct {
		const char *stack;
		uint32_t index;
	} cases[] = { { "lib+1;lib+2;sqlite3Malloc;work;main", 3 },
		{ "lib+1;sqlite3Malloc;lib+3;main", 2 }, { "lib+1;work;sqlite3Malloc;main", 0 },
		{ "lib+1;sqlite3Malloc;lib+2;sqlite3_malloc;work", 4 },
		{ "lib+1;lib+2;lib+3;lib+4;lib+5;sqlite3Malloc;work", 0 }, { "lib+1;lib+2", 0 },
		{ "lib+1;malloc;work", 0 /* of another module */ } };
	struct bp_profile profile;
	struct bp_attribution attribution;
	struct bp_error error;
	struct bp_stack_id stacks[7];
	struct bp_module_id module;
	(void)state;
	small_init(&profile);
	const struct bp_module library = { .path = small_string(&profile, "/lib/lib.so") };
	assert_true(bp_profile_add_module(&profile, &library, &module, &error));
	for (size_t i = 0; i < 7; i++)
		stacks[i] = small_stack(&profile, cases[i].stack);
	for (uint32_t i = 1; i < profile.frames.count; i++) {
		struct bp_frame *frame = &profile.frames.data[i];
		const char *name = bp_profile_text(&profile, frame->function);
		frame->named = strchr(name, '+') == NULL;
		frame->module.i = strcmp(name, "malloc") == 0 ? 0 : module.i;
	}
	assert_true(bp_attribution_init(&attribution, &profile, &error));
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(bp_attribution_index(&attribution, stacks[i]), cases[i].index);
	bp_attribution_finish(&attribution);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_user_adds_names_or_wants_none),
		cmocka_unit_test(the_expression_is_of_the_same_names),
		cmocka_unit_test(allocators_are_known_by_name),
		cmocka_unit_test(the_innermost_other_frame_is_taken),
		cmocka_unit_test(nameless_frames_of_an_allocator_are_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
