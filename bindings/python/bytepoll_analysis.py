# SPDX-License-Identifier: MIT
"""libbytepoll.so for Python: every struct and function of bytepoll/analysis.h through ctypes, under the
header's names without bytepoll_. The header says what they mean.

    import bytepoll_analysis as bytepoll

    library = bytepoll.Library("libbytepoll.so.1")
    profile = library.open_files("app.bpt")
    table = library.aggregate(profile, bytepoll.query(metric="peak", by="function"))
    for row in library.rows(table):
        print(row.name.decode(), row.bytes.low, row.bytes.high)
    library.table_close(table)
    library.close(profile)
"""
import ctypes
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int32, c_size_t, c_uint8
from ctypes import c_uint32, c_uint64, c_void_p, byref, sizeof


class Sized(Structure):
    """A struct that begins with its own size."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.struct_bytes = sizeof(self)


class Error(Structure):
    _fields_ = [("kind", c_int32), ("text", c_char * 1024)]


class OpenOptions(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("flags", c_uint32),
                ("allocator_count", c_uint32), ("allocators", POINTER(c_char_p)),
                ("debug_directory", c_char_p), ("debuginfod_urls", c_char_p),
                ("assume_interval", c_uint64)]


class ProfileInfo(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("processes", c_uint32), ("threads", c_uint32),
                ("types", c_uint32), ("frames", c_uint32), ("stacks", c_uint32),
                ("first_process", c_uint32), ("samples", c_uint64), ("unrelated", c_bool),
                ("frees_unseen", c_bool), ("unused", c_uint8 * 2), ("addresses", c_uint32),
                ("addresses_named", c_uint32), ("modules", c_uint32), ("modules_missing", c_uint32),
                ("modules_replaced", c_uint32)]


class Count(Structure):
    _fields_ = [("low", c_uint64), ("high", c_uint64)]


class Process(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("pid", c_uint32), ("parent_pid", c_uint32),
                ("parent", c_uint32), ("exec_number", c_uint32), ("name", c_char_p),
                ("program", c_char_p), ("command_line", c_char_p), ("file", c_char_p), ("start_unix_ns", c_uint64),
                ("start_ns", c_uint64), ("duration_ns", c_uint64), ("ended", c_bool),
                ("profiled", c_bool), ("unused", c_uint8 * 2), ("law", c_uint32),
                ("charge", c_uint32), ("unused_too", c_uint32), ("interval_first", c_uint64),
                ("interval_min", c_uint64), ("interval_max", c_uint64), ("samples", c_uint64),
                ("bytes", Count), ("objects", Count), ("bytes_off", Count), ("objects_off", Count),
                ("recorder_bytes", c_uint64)]


class Thread(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("process", c_uint32), ("tid", c_uint32),
                ("name", c_char_p), ("bytes", Count), ("objects", Count)]


class Frame(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("function", c_char_p), ("system_name", c_char_p),
                ("file", c_char_p), ("module", c_char_p), ("build_id", c_char_p),
                ("line", c_uint32), ("inlined", c_bool), ("named", c_bool),
                ("unused", c_uint8 * 2)]


class Stack(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("frames", POINTER(c_uint32)), ("depth", c_uint32),
                ("charged", c_uint32), ("flags", c_uint32), ("unused", c_uint32)]


class Sample(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("size", c_uint64), ("usable", c_uint64),
                ("interval", c_uint64), ("offset", c_uint64), ("count", c_uint64),
                ("weight", c_double), ("time_ns", c_uint64), ("free_time_ns", c_uint64),
                ("sequence", c_uint64), ("free_sequence", c_uint64), ("stack", c_uint32),
                ("process", c_uint32), ("thread", c_uint32), ("type", c_uint32),
                ("kind", c_char_p), ("flags", c_uint32), ("unused", c_uint32),
                ("labels", c_char_p)]


class Figure(Structure):
    _fields_ = [("estimate", c_double), ("low", c_double), ("high", c_double),
                ("flags", c_uint32), ("unused", c_uint32)]


class Query(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("metric", c_char_p), ("by", c_char_p),
                ("sort", c_char_p), ("estimator", c_char_p), ("method", c_char_p),
                ("edges", c_char_p), ("flags", c_uint32), ("pid", c_uint32), ("at_ns", c_uint64),
                ("from_ns", c_uint64), ("to_ns", c_uint64), ("size_min", c_uint64),
                ("confidence", c_double), ("filters", POINTER(c_char_p)),
                ("filter_count", c_uint32), ("unused", c_uint32)]


class TableInfo(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("rows", c_uint32), ("warnings", c_uint32),
                ("intervals", c_uint32), ("process", c_uint32), ("samples", c_uint64),
                ("lost", c_uint64), ("lost_samples", c_uint64), ("duration_ns", c_uint64),
                ("at_ns", c_uint64), ("peak_at_ns", c_uint64), ("size_min", c_uint64),
                ("confidence", c_double), ("bytes_off", Count), ("objects_off", Count)]


class Total(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("samples", c_uint64), ("bytes", Figure),
                ("objects", Figure)]


class Row(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("name", c_char_p), ("frames", POINTER(c_uint32)),
                ("frame_count", c_uint32), ("stack_flags", c_uint32), ("samples", c_uint64),
                ("bytes", Figure), ("objects", Figure)]


class Moment(Structure):
    _fields_ = [("time_ns", c_uint64), ("samples", c_uint64), ("bytes", Figure),
                ("objects", Figure), ("off", c_bool)]


class Sums(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("size_class", c_uint32), ("flags", c_uint32),
                ("samples", c_uint64), ("bytes", c_double), ("c1", c_double), ("c2", c_double),
                ("c3", c_double), ("n1", c_double), ("n2", c_double), ("n3", c_double),
                ("log_pi_sum", c_double), ("first_size", c_uint64), ("first_interval", c_uint64),
                ("first_value", c_double), ("first_charge", c_uint32), ("unused", c_uint32),
                ("interval_max", c_uint64), ("ratio_max", c_double), ("one_size", c_uint64)]


class Assumptions(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("flags", c_uint32), ("charge", c_uint32),
                ("interval", c_uint64), ("ratio_max", c_double), ("bytes", Count),
                ("objects", Count), ("offered", Count),
                ("offered_objects", Count), ("size_min", c_uint64),
                ("size_min_beside", c_uint64)]


class Comparison(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("flags", c_uint32), ("unused", c_uint32),
                ("sort", c_char_p), ("false_discoveries", c_double), ("scales", POINTER(c_double))]


class DifferenceInfo(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("rows", c_uint32), ("verdicts", c_uint32),
                ("tested", c_uint32), ("warnings", c_uint32), ("confidence", c_double),
                ("false_discoveries", c_double)]


class Change(Structure):
    _fields_ = [("base", Figure), ("news", Figure), ("change", Figure), ("ratio", Figure),
                ("p", c_double), ("base_deviation", c_double), ("new_deviation", c_double)]


class DifferenceRow(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("name", c_char_p), ("profile", c_void_p),
                ("frames", POINTER(c_uint32)), ("frame_count", c_uint32), ("tested", c_bool),
                ("unused", c_uint8 * 3), ("base_samples", c_uint64), ("new_samples", c_uint64),
                ("verdict", c_char_p), ("q", c_double), ("bytes", Change), ("objects", Change)]


class Limit(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("metric", c_char_p), ("filter", c_char_p),
                ("most", c_double), ("false_alarm", c_double), ("flags", c_uint32),
                ("unused", c_uint32)]


class CheckResult(Sized):
    _fields_ = [("struct_bytes", c_size_t), ("outcome", c_char_p), ("reason", c_char_p),
                ("figure", Figure), ("flags", c_uint32), ("unused", c_uint32),
                ("samples", c_uint64), ("interval", c_uint64), ("samples_needed", c_double),
                ("interval_needed", c_uint64)]


STRUCTS = {"error": Error, "open_options": OpenOptions, "profile_info": ProfileInfo, "count": Count,
           "process": Process, "thread": Thread, "frame": Frame, "stack": Stack, "sample": Sample,
           "figure": Figure, "query": Query, "table_info": TableInfo, "total": Total, "row": Row,
           "moment": Moment, "sums": Sums, "assumptions": Assumptions, "comparison": Comparison,
           "difference_info": DifferenceInfo, "change": Change, "difference_row": DifferenceRow,
           "limit": Limit, "check_result": CheckResult}

# name: (what it returns, arguments)
HANDLE = c_void_p
FUNCTIONS = {
    "version": (c_char_p, []),
    "open": (HANDLE, [POINTER(c_char_p), c_size_t, POINTER(OpenOptions), POINTER(Error)]),
    "close": (None, [HANDLE]),
    "profile_info": (c_bool, [HANDLE, POINTER(ProfileInfo)]),
    "profile_process": (c_bool, [HANDLE, c_uint32, POINTER(Process)]),
    "profile_thread": (c_bool, [HANDLE, c_uint32, POINTER(Thread)]),
    "profile_type": (c_char_p, [HANDLE, c_uint32]),
    "profile_frame": (c_bool, [HANDLE, c_uint32, POINTER(Frame)]),
    "profile_stack": (c_bool, [HANDLE, c_uint32, POINTER(Stack)]),
    "profile_sample": (c_bool, [HANDLE, c_uint64, POINTER(Sample)]),
    "aggregate": (HANDLE, [HANDLE, POINTER(Query), POINTER(Error)]),
    "table_close": (None, [HANDLE]),
    "table_info": (c_bool, [HANDLE, POINTER(TableInfo)]),
    "table_warning": (c_char_p, [HANDLE, c_uint32]),
    "table_interval": (c_uint64, [HANDLE, c_uint32]),
    "table_total": (c_bool, [HANDLE, c_char_p, POINTER(Total)]),
    "table_row": (c_bool, [HANDLE, c_uint32, POINTER(Row)]),
    "table_rest": (c_bool, [HANDLE, c_uint32, POINTER(Row)]),
    "table_timeline": (c_bool, [HANDLE, c_uint32, POINTER(Moment), POINTER(Error)]),
    "table_row_sums": (c_size_t, [HANDLE, c_uint32, POINTER(Sums), c_size_t]),
    "table_total_sums": (c_size_t, [HANDLE, POINTER(Sums), c_size_t]),
    "table_outside_sums": (c_size_t, [HANDLE, POINTER(Sums), c_size_t]),
    "table_assumptions": (c_bool, [HANDLE, POINTER(Assumptions)]),
    "sums_merge": (c_bool, [POINTER(Sums), POINTER(Sums)]),
    "assumptions_merge": (c_bool, [POINTER(Assumptions), POINTER(Assumptions)]),
    "sums_estimate": (c_bool, [POINTER(Sums), c_size_t, POINTER(Sums), c_size_t,
                               POINTER(Assumptions), c_double, POINTER(Figure), POINTER(Figure),
                               POINTER(Error)]),
    "compare": (HANDLE, [POINTER(HANDLE), c_size_t, POINTER(HANDLE), c_size_t, POINTER(Query),
                         POINTER(Comparison), POINTER(Error)]),
    "compare_moments": (HANDLE, [HANDLE, c_uint64, c_uint64, POINTER(Query), POINTER(Comparison),
                                 POINTER(Error)]),
    "difference_close": (None, [HANDLE]),
    "difference_info": (c_bool, [HANDLE, POINTER(DifferenceInfo)]),
    "difference_warning": (c_char_p, [HANDLE, c_uint32]),
    "difference_row": (c_bool, [HANDLE, c_uint32, POINTER(DifferenceRow)]),
    "difference_total": (c_bool, [HANDLE, POINTER(DifferenceRow)]),
    "difference_rest": (c_bool, [HANDLE, c_uint32, POINTER(DifferenceRow)]),
    "check": (c_bool, [HANDLE, POINTER(Query), POINTER(Limit), POINTER(CheckResult),
                       POINTER(Error)]),
}


class Failed(Exception):
    def __init__(self, error):
        super().__init__(error.text.decode("utf-8", "surrogateescape"))
        self.kind = error.kind


class Library:
    """Its functions by their names without bytepoll_; those that can fail raise Failed."""

    def __init__(self, path):
        self.handle = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.handle, "bytepoll_" + name)
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, self._checked(function) if arguments[-1:] == [POINTER(Error)]
                    else function)

    @staticmethod
    def _checked(function):
        def call(*arguments):
            error = Error()
            result = function(*arguments, byref(error))
            if not result:
                assert error.kind != 0 and error.text, "failed without an error"
                raise Failed(error)
            return result
        return call

    def open_files(self, *paths, **options):
        files = (c_char_p * len(paths))(*[str(path).encode() for path in paths])
        return self.open(files, len(paths), byref(OpenOptions(**options)) if options else None)

    def rows(self, table):
        """The rows of a table, each an object of its own; their names and frames live as long as the table."""
        number, row = 0, Row()
        while self.table_row(table, number, byref(row)):
            yield row
            number, row = number + 1, Row()


def query(**fields):
    """A query; filters are a list of texts."""
    filters = fields.pop("filters", [])
    texts = {name: value.encode() if isinstance(value, str) else value
             for name, value in fields.items()}
    result = Query(**texts)
    if filters:
        result.kept = (c_char_p * len(filters))(*[text.encode() for text in filters])
        result.filters = ctypes.cast(result.kept, POINTER(c_char_p))
        result.filter_count = len(filters)
    return result
