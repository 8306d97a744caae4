-- SPDX-License-Identifier: MIT
-- Tables, strings, closures and a few collections, with a checksum of what came out.
local seed = 42
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % n
end
local trees = {}
local function tree(depth)
  if depth == 0 then return {value = random(1000)} end
  return {left = tree(depth - 1), right = tree(depth - 1), name = "node" .. random(100)}
end
local function sum(node)
  if node.value then return node.value end
  return sum(node.left) + sum(node.right)
end
for i = 1, 20 do trees[i % 5] = tree(11) end
local total = 0
for _, t in pairs(trees) do total = total + sum(t) end
local parts = {}
for i = 1, 30000 do parts[#parts + 1] = string.format("%d:%s", i, ("x"):rep(i % 40)) end
local text = table.concat(parts, ",")
local count = 0
for word in text:gmatch("x+") do count = count + #word end
table.sort(parts)
collectgarbage()
print(total, #text, count, parts[1], parts[#parts])
