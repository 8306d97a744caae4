/* SPDX-License-Identifier: MIT */
/*
 * Names are data, as in allocators.c: whole names that many programs have. What frees a thing of
 * some kind (g_string_free, PyList's dealloc, sqlite3_finalize) is not among them: that is where an
 * object ends.
 */
#include "model/names/deallocators.h"

#include <string.h>

#include "base/attributes.h"

static const char *const names[] = {
	/* The C library's, and those of other allocators. */
	"free", "cfree", "__libc_free", "free_sized", "free_aligned_sized", "_ZdlPv", "_ZdaPv",
	"je_free", "je_dallocx", "je_sdallocx", "dallocx", "sdallocx", "mi_free", "mi_free_size",
	"mi_free_aligned", "tc_free", "tc_delete", "bp_pool_free", "bytepoll_pool_free",
	/* By the names that most programs give them. */
	"xfree", "x_free", "efree", "safe_free", "safefree", "my_free", "checked_free",
	"mem_pool_free", "yyfree", "zfree", "zfree_usable", "zfree_with_size", "valkey_free",
	"hi_free", "RM_Free",
	/* CPython, with mimalloc and with tracemalloc; NumPy. */
	"PyMem_Free", "PyMem_RawFree", "PyObject_Free", "_PyObject_Free", "_PyMem_RawFree",
	"_PyMem_DebugFree", "_PyMem_DebugRawFree", "_PyMem_MiFree", "_PyObject_MiFree",
	"pymalloc_free", "tracemalloc_free", "tracemalloc_raw_free", "PyDataMem_FREE",
	"PyDataMem_UserFREE", "default_free", "npy_free_cache", "npy_free_cache_dim",
	/* SQLite, jq, GLib, D-Bus, libuv, libgit2, FFmpeg, OpenSSL, libgcrypt. */
	"sqlite3MemFree", "sqlite3_free", "sqlite3DbFree", "sqlite3DbFreeNN", "sqlite3DbNNFreeNN",
	"jv_mem_free", "g_free", "g_free_sized", "g_aligned_free", "g_slice_free1", "dbus_free",
	"uv__free", "git__free", "stdalloc__free", "av_free", "av_freep", "CRYPTO_free",
	"CRYPTO_clear_free", "CRYPTO_aligned_free", "OPENSSL_free", "gcry_free",
	/* nginx, PostgreSQL, MySQL, talloc; Perl, Lua, Ruby, PHP. */
	"ngx_free", "ngx_pfree", "pfree", "AllocSetFree", "pg_free", "guc_free", "_talloc_free",
	"talloc_free", "Perl_safesysfree", "l_alloc", "luaM_free_", "lj_alloc_f", "lj_alloc_free",
	"ruby_xfree", "ruby_sized_xfree", "ruby_mimfree", "objspace_xfree", "_efree",
	/* Rust, version 0 and legacy names alike. */
	"__rust_dealloc", "__rdl_dealloc", "__rg_dealloc", "alloc::alloc::dealloc",
	"alloc::alloc::box_free"
};

/* libstdc++'s containers: std::_Vector_base<...>::_M_deallocate(...), and those of nodes. (What
 * destroys a vector's elements is ~vector, which calls ~_Vector_base.) */
static bool is_of_container(const char *function)
{
	static const char *const members[] = { ">::_M_deallocate(", ">::_M_deallocate_node",
		">::_M_deallocate_buckets(", ">::_M_put_node(", ">::~_Vector_base(" };
	return bp_is_of_container(function, members, BP_COUNT(members));
}

bool bp_deallocators_hold(const struct bp_allocators *allocators, const char *function)
{
	if (allocators != NULL && allocators->none)
		return false;
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return is_of_container(function) || strcmp(function, "operator delete") == 0 ||
	       strcmp(function, "operator delete[]") == 0;
}
