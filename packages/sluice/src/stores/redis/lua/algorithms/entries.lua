-- Sliding window logs and permits, the twin of algorithms/entries.ts. A counter is a sorted set: a
-- member `cost@expiry` for each instant, scored by when it expires, and behind them all one member
-- `kind:used:limit` that adds them up, so that no charge has to walk the whole list.

-- @include whole

local entries = {}
local CHUNK = 100

local function cost_of(member)
  return tonumber(string.match(member, "^(%d+)@"))
end

local function expiry_of(member)
  return tonumber(string.match(member, "@(%d+)$"))
end

local function latest(c)
  -- Behind it stands the total, once that was written.
  local place = c.total and -2 or -1
  local last = redis.call("ZRANGE", c.key, place, place)[1]
  c.last = last and expiry_of(last) or 0
  c.last_cost = last and cost_of(last) or 0
end

local function add(c, expiry, cost)
  local same = expiry <= c.last and redis.call("ZRANGEBYSCORE", c.key, expiry, expiry)[1]
  local whole = cost
  if same then
    redis.call("ZREM", c.key, same)
    whole = whole + cost_of(same)
  end
  if whole > 0 then redis.call("ZADD", c.key, expiry, text(whole) .. "@" .. text(expiry)) end
  c.used, c.dirty = c.used + cost, true
  if expiry < c.last or whole <= 0 then return latest(c) end
  c.last, c.last_cost = expiry, whole
end

local function cost_of_all(members)
  local cost = 0
  for _, member in ipairs(members) do cost = cost + cost_of(member) end
  return cost
end

-- Writes what `read` has only computed: removes expired entries, and brings forward those that would expire too
-- late. A peek does not call this, and leaves the list as it is.
local function bring(c)
  if not c.behind then return end
  c.behind, c.dirty = false, true
  if c.gone > 0 then redis.call("ZREMRANGEBYSCORE", c.key, "-inf", c.now) end
  if c.latest then
    -- From the latest instant up to the total, whose score is infinity.
    redis.call("ZREMRANGEBYSCORE", c.key, c.latest, "(+inf")
    redis.call("ZADD", c.key, c.latest, text(c.last_cost) .. "@" .. text(c.latest))
  end
  c.gone, c.latest = 0, nil
end

local function drop_oldest(c, cost)
  bring(c)
  local left = cost
  while left > 0 and c.used > 0 do
    local member = redis.call("ZRANGE", c.key, 0, 0)[1]
    local dropped = min(left, cost_of(member))
    add(c, expiry_of(member), -dropped)
    left = left - dropped
  end
  latest(c)
end

function entries.read(c, _, limit, now)
  c.used, c.last, c.last_cost, c.total = 0, 0, 0, nil
  c.now, c.gone, c.latest = now, 0, nil
  local tail = redis.call("ZRANGE", c.key, -2, -1)
  if #tail == 0 then return end
  local kind, used, under = string.match(tail[#tail], "^(%a+):(%d+):(%d+)$")
  -- A list of the other kind is what another algorithm left here.
  if kind ~= limit.kind then return redis.call("DEL", c.key) end
  c.total, c.used = tail[#tail], tonumber(used)
  if #tail == 2 then c.last, c.last_cost = expiry_of(tail[1]), cost_of(tail[1]) end
  local gone = redis.call("ZRANGEBYSCORE", c.key, "-inf", now)
  c.gone, c.used = #gone, c.used - cost_of_all(gone)
  if c.used == 0 then c.last, c.last_cost = 0, 0 end
  -- Entries beyond a window from now were written before the clock stepped back, and expire then.
  local latest_ms = now + limit.lifeMs
  if limit.kind ~= "concurrency" and c.last > latest_ms then
    c.latest, c.last = latest_ms, latest_ms
    c.last_cost = cost_of_all(redis.call("ZRANGEBYSCORE", c.key, latest_ms, "(+inf"))
  end
  c.behind = c.gone > 0 or c.latest ~= nil
  if limit.kind == "concurrency" then return end
  if tonumber(under) ~= limit.limit and c.used > limit.limit and not c.keeps_all then
    drop_oldest(c, c.used - limit.limit)
  end
end

-- Writes the total behind the entries, and until when they count.
function entries.flush(c, limit, now)
  bring(c)
  if c.total then redis.call("ZREM", c.key, c.total) end
  if c.used <= 0 then return redis.call("DEL", c.key) end
  c.total = limit.kind .. ":" .. text(c.used) .. ":" .. text(limit.limit)
  redis.call("ZADD", c.key, "+inf", c.total)
  redis.call("PEXPIRE", c.key, c.last - now + SLACK_MS)
end

local function wait_of(c, limit, cost, now)
  if cost > limit.limit then return -1 end
  local excess = c.used + cost - limit.limit
  local from = c.gone
  while true do
    local chunk = redis.call("ZRANGE", c.key, from, from + CHUNK - 1)
    for _, member in ipairs(chunk) do
      local expiry = expiry_of(member)
      if not expiry then return -1 end
      excess = excess - cost_of(member)
      if excess <= 0 then return min(expiry, c.latest or expiry) - now end
    end
    if #chunk < CHUNK then return -1 end
    from = from + CHUNK
  end
end

local function cost_at(c, expiry)
  if c.last == expiry then return c.last_cost end
  if c.last < expiry or expiry <= c.now then return 0 end
  local member = redis.call("ZRANGEBYSCORE", c.key, expiry, expiry)[1]
  return member and cost_of(member) or 0
end

function entries.weigh(c, limit, cost, now)
  local after = c.used + cost
  local allowed = after <= limit.limit
  local mark = now + limit.lifeMs
  local last = c.last
  if allowed and cost > 0 then last = max(mark, last) end
  local retry = allowed and 0 or wait_of(c, limit, cost, now)
  local left = max(0, limit.limit - (allowed and after or c.used))
  return allowed, left, retry, max(0, last - now), cost_at(c, mark), mark
end

function entries.take(c, _, cost, _, _, mark)
  bring(c)
  add(c, mark, cost)
end

function entries.force(c, limit, cost, now)
  bring(c)
  local room = 2 * limit.unitsMax - c.used
  if room > 0 then add(c, now + limit.lifeMs, min(cost, room)) end
end

function entries.refund(c, _, receipt, kept, _, stands)
  local back = min(receipt.cost - kept, stands)
  if back == 0 then return end
  bring(c)
  back = min(back, cost_at(c, receipt.mark))
  if back > 0 then add(c, receipt.mark, -back) end
  return true
end

function entries.grant(c, _, cost)
  drop_oldest(c, cost)
end

function entries.in_use(c, _, mark)
  return cost_at(c, mark)
end

function entries.status(c)
  return c.used
end

function entries.measure()
  return 1, 0
end
