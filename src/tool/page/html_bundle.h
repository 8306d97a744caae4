/* SPDX-License-Identifier: MIT */
/*
 * The parts of the page that are the same for all profiles, as html_bundle.S embeds them. Not
 * terminated by zeros: each ends where its `_end` is. Private to html.c.
 */
#ifndef BP_PAGE_HTML_BUNDLE_H
#define BP_PAGE_HTML_BUNDLE_H

/* web/index.html with the hash of the script (web/policy.py), with the markers @STYLE@, @WASM@,
 * @DATA@ and @SCRIPT@, in this order. */
extern const char bp_page_template[], bp_page_template_end[];
extern const char bp_page_style[], bp_page_style_end[];	  /* web/dist/page.css */
extern const char bp_page_script[], bp_page_script_end[]; /* web/dist/page.js */
extern const char bp_page_wasm[], bp_page_wasm_end[];	  /* web/dist/estimate.wasm */

#endif
