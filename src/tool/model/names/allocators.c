/* SPDX-License-Identifier: MIT */
/*
 * Names are data, by who gave them. A wrapper that many programs have under one name (xmalloc) is
 * here; one that only a single program has belongs into --allocators, unless the program is one
 * that many profile.
 */
#include "model/names/allocators.h"

#include <string.h>

#include "base/attributes.h"

/* Methods of a trait that is there for nothing else: of any Rust program's own allocator. */
#define GLOBAL_ALLOC "core::alloc::global::GlobalAlloc"

/* Longer names are nobody's own functions, and matching them takes long. */
#define NAME_BYTES_MAX 4096

/* Whole names of functions. None of them calls back into the program, so that whatever is below one
 * of them on a stack is its own business (pprof cuts stacks there). */
static const char *const names[] = {
	/* The C library's, and those of other allocators. */
	"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "free", "cfree", "mmap", "mmap64", "__libc_malloc",
	"__libc_calloc", "__libc_realloc", "__libc_memalign", "__libc_valloc", "__libc_pvalloc",
	"_Znwm", "_Znam", "je_malloc", "je_calloc", "je_realloc", "je_mallocx", "je_rallocx",
	"mallocx", "rallocx", "mi_malloc", "mi_calloc", "mi_zalloc", "mi_realloc", "mi_new",
	"mi_heap_malloc", "mi_heap_calloc", "mi_heap_zalloc", "mi_heap_realloc", "tc_malloc",
	"tc_calloc", "tc_realloc",
	/* The C library's that return a copy or a text in memory of its own, by all the names that
	 * its symbols give them, and what they are made of. */
	"strdup", "__strdup", "__GI_strdup", "__GI___strdup", "strndup", "__strndup",
	"__GI_strndup", "__GI___strndup", "wcsdup", "__wcsdup", "__GI_wcsdup", "__GI___wcsdup",
	"getline", "__getline", "__GI_getline", "__GI___getline", "getdelim", "__getdelim",
	"__GI_getdelim", "__GI___getdelim", "_IO_getdelim", "__GI__IO_getdelim", "asprintf",
	"__asprintf", "___asprintf", "__GI_asprintf", "__GI___asprintf", "_IO_asprintf",
	"vasprintf", "__vasprintf", "___vasprintf", "__GI_vasprintf", "__GI___vasprintf",
	"_IO_vasprintf", "__asprintf_chk", "___asprintf_chk", "__GI___asprintf_chk",
	"__vasprintf_chk", "___vasprintf_chk", "__GI___vasprintf_chk", "__asprintf_internal",
	"__vasprintf_internal", "__GI___vasprintf_internal",
	/* Those by which a program tells of its pools. */
	"bp_pool_alloc", "bp_pool_resize", "bytepoll_pool_alloc", "bytepoll_pool_resize",
	/* Those that end the program or zero the memory, under the names that most give them. */
	"xmalloc", "xcalloc", "xrealloc", "xzalloc", "xreallocarray", "xmallocarray", "xmemalign",
	"xaligned_alloc", "xposix_memalign", "xrecalloc", "xnmalloc", "xnrealloc", "x2realloc",
	"x2nrealloc", "xcharalloc", "ximalloc", "xizalloc", "xicalloc", "xirealloc", "xinmalloc",
	"xinrealloc", "xireallocarray", "xalignalloc", "xmallocz", "xmallocz_gently", "do_xmalloc",
	"do_xmallocz", "x_malloc", "x_calloc", "x_realloc", "zalloc", "emalloc", "ecalloc",
	"erealloc", "safe_malloc", "safe_calloc", "safe_realloc", "safemalloc", "safecalloc",
	"saferealloc", "xstrdup", "xstrndup", "xmemdup", "xmemdup0", "xmemdupz", "xasprintf",
	"xvasprintf", "checked_malloc", "checked_calloc", "checked_realloc", "my_malloc",
	"my_calloc", "my_realloc", "moz_xmalloc", "moz_xcalloc", "moz_xrealloc", "raw_malloc",
	"mem_pool_alloc", "mem_pool_calloc",
	/* Go's runtime and library. */
	"runtime.mallocgc", "runtime.newobject", "runtime.newarray", "runtime.makeslice",
	"runtime.makeslicecopy", "runtime.growslice", "runtime.rawbyteslice", "runtime.rawstring",
	"runtime.rawstringtmp", "runtime.rawruneslice", "internal/bytealg.MakeNoZero",
	"strings.(*Builder).grow", "strings.(*Builder).Grow", "strings.Clone", "bytes.Clone",
	"bytes.growSlice", "bytes.(*Buffer).grow", "bytes.(*Buffer).Grow",
	/* Flex's scanners. */
	"yyalloc", "yyrealloc",
	/* Redis and Valkey, their client library and modules. */
	"zmalloc", "zcalloc", "zcalloc_num", "zrealloc", "ztrymalloc", "ztrycalloc", "ztryrealloc",
	"zmalloc_usable", "zcalloc_usable", "zrealloc_usable", "ztrymalloc_usable",
	"ztrycalloc_usable", "ztryrealloc_usable", "ztrymalloc_usable_internal",
	"ztrycalloc_usable_internal", "ztryrealloc_usable_internal", "zmalloc_no_tcache",
	"zmalloc_cache_aligned", "valkey_malloc", "valkey_malloc_cache_aligned", "valkey_calloc",
	"valkey_calloc_num", "valkey_realloc", "valkey_trymalloc", "valkey_trycalloc",
	"valkey_tryrealloc", "valkey_malloc_usable", "valkey_calloc_usable",
	"valkey_realloc_usable", "valkey_trymalloc_usable", "valkey_trycalloc_usable",
	"valkey_tryrealloc_usable", "hi_malloc", "hi_calloc", "hi_realloc", "RM_Alloc",
	"RM_TryAlloc", "RM_Calloc", "RM_TryCalloc", "RM_Realloc", "RM_TryRealloc", "RM_PoolAlloc",
	/* CPython, with mimalloc and with tracemalloc; NumPy. */
	"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_RawMalloc", "PyMem_RawCalloc",
	"PyMem_RawRealloc", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
	"_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc", "_PyMem_RawMalloc",
	"_PyMem_RawCalloc", "_PyMem_RawRealloc", "_PyMem_DebugMalloc", "_PyMem_DebugCalloc",
	"_PyMem_DebugRealloc", "_PyMem_DebugRawMalloc", "_PyMem_DebugRawCalloc",
	"_PyMem_DebugRawRealloc", "_PyMem_DebugRawAlloc", "_PyObject_ArenaMmap",
	"_PyObject_ArenaMalloc", "_PyArena_Malloc", "pymalloc_alloc", "pymalloc_realloc",
	"_PyMem_MiMalloc", "_PyMem_MiCalloc", "_PyMem_MiRealloc", "_PyObject_MiMalloc",
	"_PyObject_MiCalloc", "_PyObject_MiRealloc", "tracemalloc_alloc", "tracemalloc_alloc_gil",
	"tracemalloc_raw_alloc", "tracemalloc_malloc", "tracemalloc_calloc", "tracemalloc_realloc",
	"tracemalloc_malloc_gil", "tracemalloc_calloc_gil", "tracemalloc_realloc_gil",
	"tracemalloc_raw_malloc", "tracemalloc_raw_calloc", "tracemalloc_raw_realloc",
	"PyDataMem_NEW", "PyDataMem_NEW_ZEROED", "PyDataMem_RENEW", "PyDataMem_UserNEW",
	"PyDataMem_UserNEW_ZEROED", "PyDataMem_UserRENEW", "default_malloc", "default_calloc",
	"default_realloc", "_npy_alloc_cache", "npy_alloc_cache", "npy_alloc_cache_zero",
	"npy_alloc_cache_dim",
	/* SQLite. */
	"sqlite3MemMalloc", "sqlite3MemRealloc", "sqlite3Malloc", "sqlite3MallocZero",
	"sqlite3Realloc", "sqlite3_malloc", "sqlite3_malloc64", "sqlite3_realloc",
	"sqlite3_realloc64", "sqlite3DbMallocRaw", "sqlite3DbMallocRawNN", "sqlite3DbMallocZero",
	"sqlite3DbRealloc", "sqlite3DbReallocOrFree", "mallocWithAlarm", "dbMallocRawFinish",
	"dbReallocFinish", "pcache1Alloc", "sqlite3PageMalloc", "sqlite3Fts5MallocZero",
	/* jq. */
	"jv_mem_alloc", "jv_mem_alloc_unguarded", "jv_mem_calloc", "jv_mem_calloc_unguarded",
	"jv_mem_realloc",
	/* GLib, D-Bus, libxml2, expat, libuv, libgit2, FFmpeg, OpenSSL and BoringSSL, libgcrypt,
	 * obstacks, binutils. */
	"g_malloc", "g_malloc0", "g_realloc", "g_malloc_n", "g_malloc0_n", "g_realloc_n",
	"g_try_malloc", "g_try_malloc0", "g_try_realloc", "g_try_malloc_n", "g_try_malloc0_n",
	"g_try_realloc_n", "g_aligned_alloc", "g_aligned_alloc0", "g_slice_alloc", "g_slice_alloc0",
	"g_strdup", "g_strndup", "g_memdup", "g_memdup2", "g_strdup_inline", "g_strdup_printf",
	"g_strdup_vprintf", "g_vasprintf", "g_rc_box_alloc", "g_rc_box_alloc0",
	"g_rc_box_alloc_full", "g_atomic_rc_box_alloc", "g_atomic_rc_box_alloc0", "dbus_malloc",
	"dbus_malloc0", "dbus_realloc", "xmlMallocLoc", "xmlMallocAtomicLoc", "xmlReallocLoc",
	"xmlMemMalloc", "xmlMemRealloc", "XML_MemMalloc", "XML_MemRealloc", "expat_malloc",
	"expat_realloc", "uv__malloc", "uv__calloc", "uv__realloc", "uv__reallocf", "git__malloc",
	"git__calloc", "git__realloc", "git__mallocarray", "git__reallocarray", "stdalloc__malloc",
	"stdalloc__realloc", "av_malloc", "av_mallocz", "av_calloc", "av_realloc",
	"av_realloc_array", "av_realloc_f", "av_malloc_array", "av_mallocz_array", "av_fast_malloc",
	"av_fast_mallocz", "av_fast_realloc", "av_fast_padded_malloc", "av_fast_padded_mallocz",
	"av_reallocp", "av_reallocp_array", "CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_calloc",
	"CRYPTO_realloc", "CRYPTO_clear_realloc", "CRYPTO_malloc_array", "CRYPTO_realloc_array",
	"CRYPTO_clear_realloc_array", "CRYPTO_aligned_alloc", "CRYPTO_secure_malloc",
	"CRYPTO_secure_zalloc", "OPENSSL_malloc", "OPENSSL_zalloc", "OPENSSL_calloc",
	"OPENSSL_realloc", "gcry_malloc", "gcry_calloc", "gcry_realloc", "gcry_xmalloc",
	"gcry_xcalloc", "gcry_xrealloc", "gcry_malloc_secure", "gcry_calloc_secure",
	"gcry_xmalloc_secure", "gcry_xcalloc_secure", "_obstack_begin", "_obstack_begin_1",
	"_obstack_newchunk", "_objalloc_alloc", "bfd_malloc", "bfd_malloc2", "bfd_zmalloc",
	"bfd_zmalloc2", "bfd_realloc", "bfd_realloc2", "bfd_realloc_or_free", "bfd_alloc",
	"bfd_alloc2", "bfd_zalloc", "bfd_zalloc2", "bfd_hash_allocate",
	/* nginx, APR, PostgreSQL, MySQL and MariaDB, talloc. */
	"ngx_alloc", "ngx_calloc", "ngx_memalign", "ngx_palloc", "ngx_pnalloc", "ngx_pcalloc",
	"ngx_pmemalign", "ngx_palloc_small", "ngx_palloc_block", "ngx_palloc_large", "apr_palloc",
	"apr_pcalloc", "apr_palloc_debug", "apr_pcalloc_debug", "apr_bucket_alloc",
	"apr_allocator_alloc", "allocator_alloc", "palloc", "palloc0", "palloc_extended",
	"palloc_aligned", "repalloc", "repalloc0", "repalloc_huge", "repalloc_extended",
	"MemoryContextAlloc", "MemoryContextAllocZero", "MemoryContextAllocZeroAligned",
	"MemoryContextAllocExtended", "MemoryContextAllocHuge", "MemoryContextAllocAligned",
	"AllocSetAlloc", "AllocSetRealloc", "AllocSetAllocLarge", "AllocSetAllocFromNewBlock",
	"AllocSetAllocChunkFromBlock", "GenerationAlloc", "GenerationRealloc",
	"GenerationAllocLarge", "GenerationAllocFromNewBlock", "GenerationAllocChunkFromBlock",
	"SlabAlloc", "SlabAllocFromNewBlock", "BumpAlloc", "BumpAllocLarge",
	"BumpAllocFromNewBlock", "BumpAllocChunkFromBlock", "guc_malloc", "guc_realloc",
	"pg_malloc", "pg_malloc0", "pg_malloc_extended", "pg_malloc_internal", "pg_realloc",
	"PQresultAlloc", "pqResultAlloc", "my_multi_malloc", "my_raw_malloc", "alloc_root",
	"multi_alloc_root", "sql_alloc", "_talloc", "__talloc", "__talloc_with_prefix",
	"talloc_named", "talloc_named_const", "_talloc_zero", "_talloc_array", "_talloc_zero_array",
	"_talloc_realloc", "_talloc_realloc_array", "_talloc_pooled_object",
	/* Perl, Lua and LuaJIT, Ruby, PHP, zsh. */
	"Perl_malloc", "Perl_calloc", "Perl_realloc", "Perl_safesysmalloc", "Perl_safesyscalloc",
	"Perl_safesysrealloc", "l_alloc", "luaM_malloc_", "luaM_realloc_", "luaM_saferealloc_",
	"luaM_growaux_", "luaM_shrinkvector_", "lj_mem_realloc", "lj_mem_newgco", "lj_mem_grow",
	"lj_alloc_f", "lj_alloc_malloc", "lj_alloc_realloc", "ruby_xmalloc", "ruby_xmalloc2",
	"ruby_xcalloc", "ruby_xrealloc", "ruby_xrealloc2", "ruby_mimmalloc", "objspace_xmalloc0",
	"objspace_xcalloc", "objspace_xrealloc", "_emalloc", "_ecalloc", "_erealloc", "_erealloc2",
	"_safe_emalloc", "_safe_malloc", "_safe_erealloc", "_safe_realloc", "__zend_malloc",
	"__zend_calloc", "__zend_realloc", "zshcalloc", "zhalloc",
	/* Rust, version 0 and legacy names alike. */
	"__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rdl_alloc",
	"__rdl_alloc_zeroed", "__rdl_realloc", "__rg_alloc", "__rg_alloc_zeroed", "__rg_realloc",
	"alloc::alloc::alloc", "alloc::alloc::alloc_zeroed", "alloc::alloc::realloc",
	"alloc::alloc::exchange_malloc", "alloc::boxed::box_new_uninit"
};

/* What prints into memory that grows, by the C library's own symbols. Below them on a stack there
 * may be a stream's buffer, which is not their business, so that pprof must not cut stacks there;
 * it does at asprintf. */
static const char *const printing[] = { "_IO_str_overflow", "__GI__IO_str_overflow",
	"_IO_default_xsputn", "__GI__IO_default_xsputn", "_IO_padn", "__GI__IO_padn",
	"outstring_func", "pad_func", "__vfprintf_internal", "__GI___vfprintf_internal",
	"__printf_buffer", "__GI___printf_buffer", "__printf_buffer_write",
	"__GI___printf_buffer_write", "__printf_buffer_flush", "__printf_buffer_do_flush",
	"__printf_buffer_flush_asprintf", "__printf_buffer_asprintf_flush" };

/* Beginnings of names; template arguments and parameters follow. */
static const char *const prefixes[] = { "operator new(", "operator new[](", "operator delete(",
	"operator delete[](", "std::allocator<", "std::allocator_traits<", "std::__new_allocator<",
	"std::pmr::", "__gnu_cxx::new_allocator<", "__gnu_cxx::__alloc_traits<",
	"__gnu_cxx::malloc_allocator<", "std::__1::allocator<", "std::__1::allocator_traits<",
	"std::__1::__libcpp_allocate", "std::__1::__libcpp_operator_new",
	/* Rust, as of 1.95 and before: Global's alloc_impl is alloc_impl_runtime now, RawVec does
	 * its work in RawVecInner, the system's own lies in std::sys::alloc::unix, the compiler's
	 * shims in __rustc. */
	"<alloc::alloc::Global as ",
	"<alloc::alloc::Global>::", "alloc::alloc::Global::", "alloc::raw_vec::RawVec",
	"<alloc::raw_vec::RawVec", "alloc::raw_vec::finish_grow", "<std::alloc::System as ",
	"<std::alloc::System>::", "std::alloc::System::", "std::sys::alloc::",
	"std::sys::pal::unix::alloc::", "std::sys::unix::alloc::", "__rustc::__rust_",
	"__rustc::__rdl_", "__rustc::__rg_", "hashbrown::raw::alloc::", "ggc_internal_alloc(",
	"ggc_internal_cleared_alloc(",
	/* V8 and node, LLVM, Qt. */
	"v8::internal::AllocWithRetry(", "v8::internal::AllocAtLeastWithRetry(",
	"v8::internal::AlignedAllocWithRetry(", "v8::internal::Malloced::operator new(",
	"v8::internal::AccountingAllocator::AllocateSegment(", "v8::internal::Zone::Expand(",
	"v8::internal::Zone::NewExpand(", "v8::internal::Zone::New(", "v8::base::Malloc(",
	"v8::base::Calloc(", "v8::base::Realloc(", "v8::base::AlignedAlloc(",
	"node::NodeArrayBufferAllocator::Allocate", "llvm::allocate_buffer(",
	"llvm::SmallVectorBase<", "llvm::BumpPtrAllocatorImpl<", "QArrayData::allocate",
	"QArrayData::reallocateUnaligned(",
	/* .NET's own ways to an array or a string. */
	"System.GC.Allocate", "System.GC.<Allocate", "System.String.Ctor",
	"System.String.FastAllocate" };

/* What pprof makes of the prefixes, and of what libstdc++'s containers have. (A Rust name keeps its
 * arguments; .NET's are never exported with a name of ours below them.) */
static const char simplified[] =
	"operator (new|delete)(\\[\\])?"
	"|std::(__1::)?allocator(<.*>)?::allocate|std::(__1::)?allocator_traits(<.*>)?::allocate"
	"|std::__new_allocator(<.*>)?::allocate|__gnu_cxx::new_allocator(<.*>)?::allocate"
	"|__gnu_cxx::__alloc_traits(<.*>)?::allocate|std::_.*::_M_allocate(_node|_buckets)?"
	"|std::_.*::_M_get_node|std::__1::__libcpp_(allocate|operator_new).*"
	"|ggc_internal_(cleared_)?alloc"
	"|v8::internal::(Alloc|AllocAtLeast|AlignedAlloc)WithRetry"
	"|v8::internal::Malloced::operator new"
	"|v8::internal::AccountingAllocator::AllocateSegment"
	"|v8::internal::Zone::(Expand|NewExpand|New)|v8::base::(Malloc|Calloc|Realloc|AlignedAlloc)"
	"|node::NodeArrayBufferAllocator::Allocate.*|llvm::allocate_buffer"
	"|llvm::SmallVectorBase(<.*>)?::.*|llvm::BumpPtrAllocatorImpl(<.*>)?::.*"
	"|QArrayData::(allocate.*|reallocateUnaligned)|.*" GLOBAL_ALLOC ".*"
	"|<?alloc::alloc::Global( as |>?::).*|<?alloc::raw_vec::RawVec.*"
	"|alloc::raw_vec::finish_grow.*|<?std::alloc::System( as |>?::).*"
	"|std::sys::(alloc|pal::unix::alloc|unix::alloc)::.*|__rustc::__(rust|rdl|rg)_.*"
	"|hashbrown::raw::alloc::.*";

bool bp_is_of_container(const char *function, const char *const *members, size_t count)
{
	if (strncmp(function, "std::_", 6) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strstr(function, members[i]) != NULL)
			return true;
	return false;
}

/* libstdc++'s containers: std::_Vector_base<...>::_M_allocate(unsigned long), and those of
 * nodes. */
static bool is_of_container(const char *function)
{
	static const char *const members[] = { ">::_M_allocate(", ">::_M_allocate_node",
		">::_M_allocate_buckets(", ">::_M_get_node(" };
	return bp_is_of_container(function, members, BP_COUNT(members));
}

static bool is_built_in(const char *function)
{
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (*function == *names[i] && strcmp(function, names[i]) == 0)
			return true;
	for (size_t i = 0; i < BP_COUNT(printing); i++)
		if (*function == *printing[i] && strcmp(function, printing[i]) == 0)
			return true;
	for (size_t i = 0; i < BP_COUNT(prefixes); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return is_of_container(function) || strstr(function, GLOBAL_ALLOC) != NULL ||
	       strcmp(function, "operator new") == 0 || strcmp(function, "operator new[]") == 0;
}

bool bp_allocators_hold(const struct bp_allocators *allocators, const char *function)
{
	if (allocators == NULL)
		return is_built_in(function);
	if (allocators->none)
		return false;
	if (is_built_in(function))
		return true;
	if (allocators->count > 0 && strnlen(function, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX)
		return false;
	for (uint32_t i = 0; i < allocators->count; i++) {
		regmatch_t match;
		/* Of several ways to match, POSIX takes the longest of the leftmost: if a whole
		 * name can match, it is that. */
		if (regexec(&allocators->patterns[i], function, 1, &match, 0) == 0 &&
			match.rm_so == 0 && function[match.rm_eo] == '\0')
			return true;
	}
	return false;
}

bool bp_allocators_add(struct bp_allocators *allocators, const char *text, struct bp_error *error)
{
	regex_t *pattern = &allocators->patterns[allocators->count];
	char reason[256];
	if (allocators->count == BP_ALLOCATOR_PATTERNS_MAX)
		return bp_error_set(error, "more than %d expressions", BP_ALLOCATOR_PATTERNS_MAX);
	if (*text == '\0')
		return bp_error_set(error, "an empty expression matches nothing");
	const int failure = regcomp(pattern, text, REG_EXTENDED);
	if (failure != 0) {
		regerror(failure, pattern, reason, sizeof reason);
		return bp_error_set(error, "%.200s: is no regular expression: %s", text, reason);
	}
	allocators->texts[allocators->count++] = text;
	return true;
}

void bp_allocators_finish(struct bp_allocators *allocators)
{
	for (uint32_t i = 0; i < allocators->count; i++)
		regfree(&allocators->patterns[i]);
	allocators->count = 0;
	allocators->none = false;
}

/* A name as an expression that matches it alone. */
static void write_name(const char *name, FILE *out)
{
	for (const char *c = name; *c != '\0'; c++) {
		if (strchr(".()*+?[]{}^$|\\", *c) != NULL)
			putc('\\', out);
		putc(*c, out);
	}
}

void bp_allocators_write_expression(const struct bp_allocators *allocators, FILE *out)
{
	if (allocators != NULL && allocators->none)
		return;
	fputs(simplified, out);
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		putc('|', out);
		write_name(names[i], out);
	}
	for (uint32_t i = 0; allocators != NULL && i < allocators->count; i++)
		fprintf(out, "|(%s)", allocators->texts[i]);
}
