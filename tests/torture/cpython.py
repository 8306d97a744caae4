# SPDX-License-Identifier: MIT
"""CPython's own tests, Debian's build: threads, processes, foreign functions, memory. Twice, the
second time with PYTHONMALLOC=malloc, so that every Python object is an object of malloc."""
import os
import re
import xml.etree.ElementTree

from suite import FAILED, PASSED, SKIPPED, Suite

PIN = "3.11.2-6+deb12u8"
TESTS = """
test_threading test_thread test_threading_local test_threadsignals test_queue
test_subprocess test_ctypes test_mmap test_gc test_fork1 test_signal test_faulthandler test_os
test_posix test_resource test_multiprocessing_main_handling test_multiprocessing_fork
test_concurrent_futures test_contextlib test_generators test_coroutines
test_weakref test_finalization test_memoryio test_memoryview test_array test_bytes test_dict
test_list test_set test_deque test_re test_json test_pickle test_marshal test_struct test_io
test_zlib test_bz2 test_lzma test_hashlib test_ssl test_xml_etree_c test_pyexpat
test_tracemalloc test_atexit test_exceptions test_sys test_cmd_line test_importlib
test_selectors test_pty test_tempfile
test_shutil test_curses test_readline test_dbm test_crypt test_grp test_pwd test_locale test_uuid
""".split()


class Python(Suite):
    version = PIN
    binaries = dict.fromkeys(("python3.11", "python3.11-minimal", "libpython3.11-stdlib",
                              "libpython3.11-minimal", "libpython3.11-testsuite"), PIN)
    tools = ()
    time_limit_s = 1800

    def command(self, only=None):
        names = TESTS
        if only:
            names = sorted({re.match(r"(?:test\.)?(test_\w+)", test).group(1) for test in only})
        return [os.path.join(self.root, "usr/bin/python3.11"), "-m", "test", "-j3", "-u", "none",
                "--timeout", "900", "--junit-xml", os.path.join(self.folder, "results.xml"), *names]

    def outcomes(self, output):
        """The XML has a case for every test that ran; a file that crashed is in the text alone."""
        found = {name: FAILED for name in re.findall(
            r"^(test_\w+) (?:crashed|timed out)", output, re.MULTILINE)}
        path = os.path.join(self.folder, "results.xml")
        if not os.path.exists(path):
            return found
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            kinds = {child.tag for child in case}
            found[case.get("name")] = (SKIPPED if "skipped" in kinds else
                                       FAILED if kinds & {"failure", "error"} else PASSED)
        return found


def suites(packages, folder):
    return [Python(packages, folder, "cpython"),
            Python(packages, folder, "cpython-malloc", PYTHONMALLOC="malloc")]
