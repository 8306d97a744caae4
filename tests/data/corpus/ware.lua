-- SPDX-License-Identifier: MIT
-- A script whose recording the corpus of command lines reads: what it allocates has types.
local kept = {}
local function label(i)
  return ("ware %d, \"quoted\""):format(i) .. string.rep("x", i % 90)
end
local function ware(i)
  return { name = label(i), price = i * 1.5, next = function() return i end }
end
for i = 1, 1500 do
  kept[i % 3 == 0 and #kept + 1 or 1] = ware(i)
end
