-- Decides many requests in their order, each all or nothing.
-- KEYS: counters, values of their limiters, open receipts, records of requests, each once.
-- ARGV[4]: a JSON array of numbers. For each request: 8 × how many charges + what it has (1: receipts,
--   2: an id, 4: charges with more fields). With receipts: the place of their name in ARGV, 0 if they
--   are not kept, and how long they are. With an id: the place of its record in KEYS and of its print
--   in ARGV. For each charge: places of counter and limiter's value, its limit, cost; with more fields: 1
--   if shadow, shift, place of open receipts or 0.
-- ARGV[5]: how long an id is remembered. ARGV[6...]: names and prints.
-- Reply: the time, then for each request its verdicts. With receipts or an id there is more: first 1
--   if it is admitted, else 0 (-1: its id was used for another one, and nothing follows); behind each
--   verdict the mark and what was in use before; at last the receipts' name and
--   when they were made.

-- @include all-counters
-- @include verdicts

local numbers = cjson.decode(ARGV[4])
local at = 1
-- One table for each charge of a request, used again by the next.
local weighed = {}

local function next_number()
  at = at + 1
  return numbers[at - 1]
end

local function weigh(i, has_more)
  local w = weighed[i]
  if not w then w = {} weighed[i] = w end
  local place, first = numbers[at], numbers[at + 1]
  local limit, cost = limits[numbers[at + 2]], numbers[at + 3]
  at = at + 4
  local shadow, shift = 0, 0
  if has_more then shadow, shift, w.open = next_number(), next_number(), next_number() end
  w.blocked = blocked_ms(first)
  load(w, place, limit, shift)
  w.limit, w.cost, w.shadow = limit, cost, shadow == 1
  w.allowed, w.remaining, w.retry, w.reset, w.before, w.mark =
    limit.algorithm.weigh(w, limit, cost, now)
  w.passes = w.allowed and w.blocked == 0
end

-- Takes a charge that passes.
local function take(w, delay, name, keep_ms)
  local limit = w.limit
  -- A permit's time starts when its request continues.
  if limit.kind == "concurrency" then w.mark = w.mark + ceil(delay) end
  if w.cost > 0 then limit.algorithm.take(w, limit, w.cost, now, w.before, w.mark) end
  if not name or w.open == 0 then return end
  local receipt = { id = name, cost = w.cost, at = now, before = w.before, lowered = 0 }
  receipts.open(KEYS[w.open], w.mark, receipt, keep_ms + SLACK_MS)
end

local function decide(reply, count, has_more, has_receipts, name, keep_ms)
  local admitted, delay = true, 0
  for i = 1, count do
    weigh(i, has_more)
    local w = weighed[i]
    if not w.passes and not w.shadow then admitted = false end
    if w.limit.delays and w.cost > 0 then delay = max(delay, w.before / w.limit.ticksPerMs) end
  end
  if has_receipts then reply[#reply + 1] = admitted and 1 or 0 end
  for i = 1, count do
    local w = weighed[i]
    local limit, remaining, reset = w.limit, w.remaining, w.reset
    local is_taken = admitted and w.passes
    if is_taken then take(w, delay, name, keep_ms)
    elseif w.allowed then remaining, reset = as_it_stands(w, limit) end
    if is_taken or not w.allowed then save_standing(w, limit) else save(w, limit) end
    local waits = w.allowed and w.cost > 0 and w.before or 0
    add_verdict(reply, limit, remaining, w.retry, reset, waits, w.blocked)
    if has_receipts then reply[#reply + 1] = w.mark reply[#reply + 1] = w.before end
  end
  if has_receipts then reply[#reply + 1] = name or "" reply[#reply + 1] = now end
  return admitted
end

-- Decides a request that has an id, unless it was admitted before.
local function decide_once(reply, count, has_more, record, print, name, keep_ms)
  local known = values[record] and cmsgpack.unpack(values[record])
  if not known then
    local first = #reply + 1
    if not decide(reply, count, has_more, true, name, keep_ms) then return end
    values[record] = cmsgpack.pack({ print, unpack(reply, first) })
    ttls[record] = tonumber(ARGV[5])
    return
  end
  at = at + count * (has_more and 7 or 4)
  if known[1] ~= print then reply[#reply + 1] = -1 return end
  for i = 2, #known do reply[#reply + 1] = known[i] end
end

if not read_values() then return wrong_period() end
local reply = { now }
while at <= #numbers do
  local head = next_number()
  local has_more = head % 8 >= 4
  local has_receipts = head % 4 > 0
  local name, keep_ms, record, print
  -- A place of 0 is in no list, so that brief receipts have no name.
  if head % 2 == 1 then name, keep_ms = ARGV[next_number()], next_number() end
  if head % 4 >= 2 then record, print = next_number(), ARGV[next_number()] end
  local count = floor(head / 8)
  if record then decide_once(reply, count, has_more, record, print, name, keep_ms)
  else decide(reply, count, has_more, has_receipts, name, keep_ms) end
end
write_values()
return reply
