/* SPDX-License-Identifier: MIT */
/* A library with static thread-local storage, of which the loader has little to spare
 * (static_tls.c). */
char *tls_plugin_words(void);

static __thread char words[200] __attribute__((tls_model("initial-exec")));

char *tls_plugin_words(void)
{
	return words;
}
