-- What receipts stand for, the twin of algorithms/receipts.ts, and where open ones are kept: a hash
-- beside the counter with a field for each mark, so that a permit's release looks only at permits of
-- its own millisecond. A list of [id, cost, at, before, lowered], the oldest first, packed.

local receipts = {}
-- The most receipts of one mark, and marks of one counter: beyond it the oldest are lost, and bring
-- nothing. A process that dies with a permit never settles it.
local OPEN_MAX, MARKS_MAX = 1000, 1000

local function stands_for(receipt, per_unit, per_ms, now)
  local paid = max(0, now - receipt.at) * per_ms
  return max(0, receipt.before + receipt.cost * per_unit - receipt.lowered - paid)
end

local function read_open(key, mark)
  local packed = redis.call("HGET", key, mark)
  local list = packed and cmsgpack.unpack(packed) or {}
  for i, r in ipairs(list) do
    list[i] = { id = r[1], cost = r[2], at = r[3], before = r[4], lowered = r[5] }
  end
  return list
end

local function write_open(key, mark, list)
  if #list == 0 then return redis.call("HDEL", key, mark) end
  local packed = {}
  for i, r in ipairs(list) do packed[i] = { r.id, r.cost, r.at, r.before, r.lowered } end
  redis.call("HSET", key, mark, cmsgpack.pack(packed))
end

-- Lets go of the oldest tenth of the marks.
local function shed_marks(key)
  local marks = redis.call("HKEYS", key)
  table.sort(marks, function(a, b) return tonumber(a) < tonumber(b) end)
  for i = 1, #marks / 10 do redis.call("HDEL", key, marks[i]) end
end

function receipts.open(key, mark, receipt, ttl)
  local list = read_open(key, text(mark))
  if #list == 0 and redis.call("HLEN", key) >= MARKS_MAX then shed_marks(key) end
  if #list >= OPEN_MAX then table.remove(list, 1) end
  list[#list + 1] = receipt
  write_open(key, text(mark), list)
  local left = redis.call("PTTL", key)
  if left < ttl then redis.call("PEXPIRE", key, ttl) end
end

-- Takes an open receipt out; returns it, what is left of its like, and its place among them.
function receipts.close(key, mark, id)
  local list = read_open(key, text(mark))
  for place, receipt in ipairs(list) do
    if receipt.id == id then
      table.remove(list, place)
      write_open(key, text(mark), list)
      return receipt, list, place
    end
  end
end

-- Lowers receipts from `first` on: together they stand for no more than what is in use, the
-- youngest served first because the oldest debt is paid first.
local function lower(list, first, in_use, per_unit, per_ms, now)
  local left = in_use
  for i = #list, first, -1 do
    local receipt = list[i]
    local stood = stands_for(receipt, per_unit, per_ms, now)
    local stands = min(stood, left)
    left = left - min(stands, receipt.cost * per_unit)
    -- A receipt that stands for nothing stays so, even if the clock steps back.
    if stands == 0 then receipt.lowered = receipt.before + receipt.cost * per_unit
    else receipt.lowered = receipt.lowered + stood - stands end
  end
end

-- A receipt gave something back: only those younger than it may stand for less now.
function receipts.lower_younger(key, mark, list, first, c, limit, now)
  if first > #list then return end
  local per_unit, per_ms = limit.algorithm.measure(limit)
  lower(list, first, limit.algorithm.in_use(c, limit, mark, now), per_unit, per_ms, now)
  write_open(key, text(mark), list)
end

-- An operator granted something: any open receipt of the counter may stand for less now.
function receipts.lower_all(key, c, limit, now)
  local per_unit, per_ms = limit.algorithm.measure(limit)
  for _, mark in ipairs(redis.call("HKEYS", key)) do
    local list = read_open(key, mark)
    lower(list, 1, limit.algorithm.in_use(c, limit, tonumber(mark), now), per_unit, per_ms, now)
    write_open(key, mark, list)
  end
end
