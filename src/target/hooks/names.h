/* SPDX-License-Identifier: MIT */
/*
 * The one list of hooked names and of calls for the program: every symbol that the recorder
 * exports, in groups by the file that has its body. The version script (exports.map) and
 * docs/hooks.md are made from it, which a test checks, and so is the table of real functions. A new
 * hook is one line here and one body.
 *
 * BP_HOOK(name, what the hook does)
 */
#ifndef BP_HOOKS_NAMES_H
#define BP_HOOKS_NAMES_H

/* malloc.c: the hot ones. */
#define BP_HOOKS_MALLOC(BP_HOOK)                                                              \
	BP_HOOK(malloc, "counted, size + 1 trials")                                           \
	BP_HOOK(free, "recognises sampled objects by the size word before them, over other "  \
		      "allocators than glibc's by their page")                                \
	BP_HOOK(calloc, "counted as the product; sampled memory is cleared")                  \
	BP_HOOK(realloc, "a free and a new allocation of the whole new size; size 0: a free") \
	BP_HOOK(memalign, "counted as the size requested")                                    \
	BP_HOOK(aligned_alloc, "counted as the size requested")                               \
	BP_HOOK(posix_memalign, "counted as the size requested")                              \
	BP_HOOK(valloc, "counted as the size requested")                                      \
	BP_HOOK(pvalloc, "counted as the size requested")                                     \
	BP_HOOK(malloc_usable_size, "answers what malloc would have for the request")

/* aliases.c: other names of the same functions. */
#define BP_HOOKS_ALIASES(BP_HOOK)                                 \
	BP_HOOK(reallocarray, "checks the product, then realloc") \
	BP_HOOK(cfree, "free")                                    \
	BP_HOOK(free_sized, "free")                               \
	BP_HOOK(free_aligned_sized, "free")                       \
	BP_HOOK(__libc_malloc, "malloc")                          \
	BP_HOOK(__libc_free, "free")                              \
	BP_HOOK(__libc_calloc, "calloc")                          \
	BP_HOOK(__libc_realloc, "realloc")                        \
	BP_HOOK(__libc_memalign, "memalign")                      \
	BP_HOOK(__libc_valloc, "valloc")                          \
	BP_HOOK(__libc_pvalloc, "pvalloc")

/* cxx.c: the C++ operators, by their mangled names. libstdc++'s operators call malloc, whose hook
 * counts; operators of another allocator have counting hooks of their own (foreign.c). */
#define BP_HOOKS_NEW(BP_HOOK)                                                         \
	BP_HOOK(_Znwm, "operator new")                                                \
	BP_HOOK(_Znam, "operator new[]")                                              \
	BP_HOOK(_ZnwmRKSt9nothrow_t, "operator new, nothrow")                         \
	BP_HOOK(_ZnamRKSt9nothrow_t, "operator new[], nothrow")                       \
	BP_HOOK(_ZnwmSt11align_val_t, "operator new, aligned")                        \
	BP_HOOK(_ZnamSt11align_val_t, "operator new[], aligned")                      \
	BP_HOOK(_ZnwmSt11align_val_tRKSt9nothrow_t, "operator new, aligned, nothrow") \
	BP_HOOK(_ZnamSt11align_val_tRKSt9nothrow_t, "operator new[], aligned, nothrow")

#define BP_HOOKS_DELETE(BP_HOOK)                                                          \
	BP_HOOK(_ZdlPv, "operator delete")                                                \
	BP_HOOK(_ZdaPv, "operator delete[]")                                              \
	BP_HOOK(_ZdlPvm, "operator delete, sized")                                        \
	BP_HOOK(_ZdaPvm, "operator delete[], sized")                                      \
	BP_HOOK(_ZdlPvRKSt9nothrow_t, "operator delete, nothrow")                         \
	BP_HOOK(_ZdaPvRKSt9nothrow_t, "operator delete[], nothrow")                       \
	BP_HOOK(_ZdlPvSt11align_val_t, "operator delete, aligned")                        \
	BP_HOOK(_ZdaPvSt11align_val_t, "operator delete[], aligned")                      \
	BP_HOOK(_ZdlPvmSt11align_val_t, "operator delete, sized, aligned")                \
	BP_HOOK(_ZdaPvmSt11align_val_t, "operator delete[], sized, aligned")              \
	BP_HOOK(_ZdlPvSt11align_val_tRKSt9nothrow_t, "operator delete, aligned, nothrow") \
	BP_HOOK(_ZdaPvSt11align_val_tRKSt9nothrow_t, "operator delete[], aligned, nothrow")

/* life.c, symbols.c and seccomp.c: ends, new images, and calls that affect the trace's mapping. */
#define BP_HOOKS_LIFE(BP_HOOK)                                                                \
	BP_HOOK(_exit, "publishes the exact totals")                                          \
	BP_HOOK(_Exit, "publishes the exact totals")                                          \
	BP_HOOK(quick_exit, "publishes the exact totals")                                     \
	BP_HOOK(abort, "publishes the exact totals")                                          \
	BP_HOOK(fork, "records the child")                                                    \
	BP_HOOK(dlsym, "answers with our hooks where those of the program's malloc would be") \
	BP_HOOK(dlclose, "records unloaded modules")                                          \
	BP_HOOK(prctl, "gives up the system calls that seccomp is about to forbid")           \
	BP_HOOK(syscall, "the same, where the call is seccomp")                               \
	BP_HOOK(mallopt, "M_PERTURB holds for sampled objects, too")                          \
	BP_HOOK(mlockall, "gives back what is mapped ahead")                                  \
	BP_HOOK(setrlimit, "gives back what is mapped ahead")                                 \
	BP_HOOK(setrlimit64, "gives back what is mapped ahead")                               \
	BP_HOOK(prlimit, "gives back what is mapped ahead")                                   \
	BP_HOOK(prlimit64, "gives back what is mapped ahead")

/* mapping.c: memory that the program maps itself. Calls within libc (of malloc, of threads) do not
 * come here. */
#define BP_HOOKS_MAPPING(BP_HOOK)                                            \
	BP_HOOK(mmap, "records what was mapped")                             \
	BP_HOOK(mmap64, "as mmap")                                           \
	BP_HOOK(munmap, "records what was unmapped")                         \
	BP_HOOK(mremap, "records what was mapped and unmapped")              \
	BP_HOOK(mprotect, "records what became accessible, or ceased to be") \
	BP_HOOK(pkey_mprotect, "as mprotect")                                \
	BP_HOOK(brk, "records how the end of the data segment moved")        \
	BP_HOOK(sbrk, "as brk")                                              \
	BP_HOOK(shmat, "records what was attached")                          \
	BP_HOOK(shmdt, "records what was detached")

/* exec.c */
#define BP_HOOKS_EXEC(BP_HOOK)                                            \
	BP_HOOK(execve, "records the new image and publishes the totals") \
	BP_HOOK(execv, "as execve")                                       \
	BP_HOOK(execvp, "as execve")                                      \
	BP_HOOK(execvpe, "as execve")                                     \
	BP_HOOK(execl, "as execve")                                       \
	BP_HOOK(execlp, "as execve")                                      \
	BP_HOOK(execle, "as execve")                                      \
	BP_HOOK(fexecve, "as execve")                                     \
	BP_HOOK(posix_spawn, "records the new image")                     \
	BP_HOOK(posix_spawnp, "records the new image")

/* calls.c, pools.c and recorder/attach.c: not hooked, but for the program to call:
 * bytepoll/bytepoll.h and annotate.h, what programs written for heaptrack look for, and what
 * `bytepoll attach` calls. */
#define BP_CALLS(BP_CALL)                                                                          \
	BP_CALL(bytepoll_status, "returns the state of the recorder")                              \
	BP_CALL(bytepoll_start, "switches sampling on")                                            \
	BP_CALL(bytepoll_stop, "switches sampling off")                                            \
	BP_CALL(bytepoll_interval, "sets the interval")                                            \
	BP_CALL(bytepoll_snapshot, "records a moment in the trace")                                \
	BP_CALL(bytepoll_window_start, "begins a window")                                          \
	BP_CALL(bytepoll_window_stop, "ends a window, and returns what was in it")                 \
	BP_CALL(bytepoll_tag, "sets a tag of the thread")                                          \
	BP_CALL(bytepoll_tags, "returns all its tags as a number")                                 \
	BP_CALL(bytepoll_tags_put, "sets all its tags from such a number")                         \
	BP_CALL(bytepoll_listen, "adds a function that is called for every sample and its free")   \
	BP_CALL(bytepoll_unlisten, "removes such a function")                                      \
	BP_CALL(bytepoll_pool_create, "gives a pool a name")                                       \
	BP_CALL(bytepoll_pool_alloc, "an object of a pool: counted, size + 1 trials")              \
	BP_CALL(bytepoll_pool_free, "an object of a pool is freed")                                \
	BP_CALL(bytepoll_pool_resize, "a free and a new allocation of the whole new size")         \
	BP_CALL(bytepoll_pool_trim, "frees a pool's objects, except those in a range")             \
	BP_CALL(bytepoll_pool_destroy, "frees a pool with all its objects")                        \
	BP_CALL(bytepoll_pool_move, "gives a pool another address")                                \
	BP_CALL(bytepoll_uncounted_begin, "from here on the thread's allocations are not counted") \
	BP_CALL(bytepoll_uncounted_end, "from here on they are counted again")                     \
	BP_CALL(bytepoll_attach, "begins a trace of a running process, for `bytepoll attach`")     \
	BP_CALL(bytepoll_detach, "ends it, for `bytepoll detach`")                                 \
	BP_CALL(bytepoll_attached, "(data) tells these commands how that went")                    \
	BP_CALL(heaptrack_malloc, "as bytepoll_pool_alloc")                                        \
	BP_CALL(heaptrack_realloc, "as bytepoll_pool_resize")                                      \
	BP_CALL(heaptrack_free, "as bytepoll_pool_free")

#endif
