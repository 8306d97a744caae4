# SPDX-License-Identifier: MIT
"""Random programs in Lua, for test_lua_programs.py: loops, closures, coroutines, errors, metamethods,
strings, collections. They print what they compute, which depends on no address and no order of keys, and
at their end how many tables each line has made: `T line count`. Statements stand on lines of their own, so
that Lua's line of a constructor is the statement's.
"""
import random

FUEL = 4000  # statements that make tables, in one run
HEAD = """local counts, fuel = {}, %d
for i = 1, %d do counts[i] = 0 end
local function N(line, tables)
  if fuel == 0 then error("no fuel", 0) end
  fuel = fuel - 1
  counts[line] = counts[line] + tables
end
local S, g = "", {}
"""
TAIL = """
print(ok, ok and "" or tostring(why):sub(-7), #S, #g)
for line = 1, #counts do if counts[line] > 0 then print("T", line, counts[line]) end end
"""
HEAD_LINES = HEAD.count("\n")


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.names = 0

    def emit(self, text, tables=None):
        """A line; one that begins with a statement says how many tables it makes, and takes fuel."""
        number = HEAD_LINES + len(self.lines) + 1
        self.lines.append(("" if tables is None else "N(%d, %d) " % (number, tables)) + text)

    def value(self, depth):
        """(expression, tables it makes)"""
        if self.random.random() < 0.4 and depth > 0:
            return self.constructor(depth)
        return self.random.choice([
            "%d" % self.random.randrange(1000), "true", '"k%d"' % self.random.randrange(9),
            "S:sub(1, %d)" % self.random.randrange(30), "#g", "fuel", "function() return fuel end",
            '("ab"):rep(%d)' % self.random.randrange(80)]), 0

    def constructor(self, depth):
        parts, tables = [], 1
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3, 5, 60 if depth == 3 else 4])):
            expression, more = self.value(depth - 1)
            parts.append(self.random.choice(["", "", "", "x%d = " % self.random.randrange(6),
                                             "[%d] = " % self.random.randrange(99)]) + expression)
            tables += more
        if self.random.random() < 0.2:
            parts.append(self.random.choice(["...", "table.unpack(g, 1, 3)"]))
        return "{%s}" % ", ".join(parts), tables

    def block(self, depth, budget):
        for _ in range(budget):
            self.statement(depth)

    def make_table(self, _):
        expression, tables = self.constructor(3)
        form = self.random.choice(["do local x = %s; g[#g + 1] = x end", "g[#g + 1] = %s",
                                   "g[" + str(self.random.randrange(1, 40)) + "] = %s",
                                   "g[#g] = (%s)", "do local a, b = 1, %s; S = S .. #b end",
                                   "if #(%s) > 0 then S = S .. 'n' end"])
        self.emit(form % expression, tables)

    def text(self, _):
        form, tables = self.random.choice([
            ("S = (S .. ('%%s-%%d'):format('y', fuel)):sub(-%d)" % self.random.randrange(1, 3000), 0),
            ("S = S:gsub('%d', function(d) return d + 1 .. '' end):sub(1, 900)", 0),
            ("S = table.concat({'a', S:sub(1, 90), fuel}, ',')", 1), ("S = S:rep(2):sub(1, 2000)", 0),
            ("S = S:upper() .. #S; S = S:lower()", 0), ("S = S .. tostring(1.5 * fuel)", 0)])
        self.emit(form, tables)

    def loop(self, depth):
        self.names += 1
        name = "v%d" % self.names
        self.emit(self.random.choice([
            "for %s = 1, %d do" % (name, self.random.randrange(1, 9)),
            "for %s = %d, 1, -2 do" % (name, self.random.randrange(1, 12)),
            "for %s in ('abcd'):gmatch('.') do" % name]))
        self.block(depth - 1, self.random.randrange(1, 4))
        self.emit("end")

    def branch(self, depth):
        self.emit("if fuel %% %d == 0 then" % self.random.randrange(2, 5))
        self.block(depth - 1, self.random.randrange(1, 3))
        self.emit("else")
        self.block(depth - 1, self.random.randrange(1, 3))
        self.emit("end")

    def protected(self, depth):
        self.emit("S = S .. tostring(pcall(function(...)")
        self.block(depth - 1, self.random.randrange(1, 3))
        if self.random.random() < 0.5:
            self.emit("error(%s)" % self.random.choice(["'e', 0", "nil", "S, 0", "#g"]))
        self.emit("end, 1, 2))")

    def coroutine(self, depth):
        self.emit("do local f = coroutine.wrap(function(...)")
        for _ in range(self.random.randrange(1, 4)):
            self.block(depth - 1, 1)
            self.emit("coroutine.yield(#S)")
        self.emit("end)")
        self.emit("S = S .. tostring(f(1)) .. tostring((f(2))) end")

    def closed(self, depth):
        self.emit("do local c = coroutine.create(function(...)")
        self.emit("local x <close> = setmetatable(MT, {__close = function(...)", 1)
        self.block(depth - 1, 1)
        self.emit("end})")
        self.emit("coroutine.yield() end)")
        self.emit("coroutine.resume(c) coroutine.close(c) end")

    def metamethods(self, depth):
        self.emit("do local m = setmetatable({}, {__index = function(t, k, ...)", 2)
        self.block(depth - 1, 1)
        self.emit("return {k} end, __newindex = function(t, k, v)", 1)
        self.emit("rawset(t, k, v)")
        self.emit("end, __concat = function() return S:sub(1, 9) end})")
        self.emit("m.a = m.b; S = m .. 'x'; S = S .. #m.c end")

    def collect(self, _):
        form = self.random.choice([
            "collectgarbage('step')", "collectgarbage()", "collectgarbage('generational')",
            "collectgarbage('incremental')", "g = {}", "collectgarbage('step', 10)"])
        self.emit(form, form.count("{"))

    def sort(self, _):
        self.emit("do local l = {} for i = 1, 20 do l[i] = (i * 7) % 11 end", 1)
        self.emit("table.sort(l, function(a, b) return a > b end) S = S .. table.concat(l) end")

    def show(self, _):
        self.emit("print(#S, S:sub(-20), #g)")

    def statement(self, depth):
        leaves = [self.make_table] * 6 + [self.text] * 3 + [self.collect, self.sort, self.show]
        inner = [self.loop] * 3 + [self.branch, self.protected, self.coroutine, self.closed,
                                   self.metamethods]
        self.random.choice(leaves + (inner if depth > 0 else []))(depth)

    def source(self):
        self.emit("local MT = {}", 1)
        self.emit("local ok, why = pcall(function(...)")
        for _ in range(self.random.randrange(3, 9)):
            self.emit("for round = 1, %d do" % self.random.randrange(1, 15))
            self.block(3, self.random.randrange(3, 10))
            self.emit("end")
        self.emit("end, 1, 2, 3)")
        body = "\n".join(self.lines)
        count = HEAD_LINES + len(self.lines)
        return HEAD % (FUEL, count) + body + TAIL
