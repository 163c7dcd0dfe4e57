-- What every operation starts from: the time, the limits, and what the keys hold. Values are read in
-- one command, decided on in Lua, and written once each at the end, every one with a TTL.
-- ARGV[1]: the time, see now. ARGV[2]: what is added to each TTL. ARGV[3]: the limits, as a JSON array
-- of objects.

-- @include now
-- @include whole

local SLACK_MS = tonumber(ARGV[2])
local limits = cjson.decode(ARGV[3])
-- By the key's index in KEYS: the value; the TTL of a single value that has to be written (below 0: the TTL that it
-- has, 0: it is deleted); and by how much an integer changes whose TTL stays as it is.
local values
local ttls, steps = {}, {}

-- @include write-parts

-- Reads all keys. False if this moment lies outside the calendar periods in the arguments: the caller's clock is
-- far from the server's, and the caller sends the call again with the periods of the server's time.
local function read_values()
  values = redis.call("MGET", unpack(KEYS))
  for _, limit in ipairs(limits) do
    if limit.ends and (now < limit.start or now >= limit.ends[#limit.ends]) then return false end
  end
  return true
end

local function wrong_period()
  return redis.error_reply("SLUICEPERIOD " .. text(now))
end

-- Numbers become strings here: in the arguments of a command, Redis would take longer. TTLs are rounded up a
-- little, so that most are the same.
local TTL_STEP_MS = 128

local function write_values()
  local call, keys, texts = redis.call, KEYS, {}
  for place = 1, #keys do
    local ttl, step = ttls[place], steps[place]
    if not ttl then
      if step then
        -- Those of windows are below zero, and nearly all the same; those of buckets differ.
        local written = texts[step]
        if not written then
          written = format("%d", step)
          if step < 0 then texts[step] = written end
        end
        call("INCRBY", keys[place], written)
      end
    elseif ttl < 0 then
      -- The same as SET with KEEPTTL for a value of the same length, and cheaper: the server looks the key up once.
      call("SETRANGE", keys[place], "0", values[place])
    elseif ttl > 0 then
      local value, ms = values[place], ttl + SLACK_MS + (-ttl) % TTL_STEP_MS
      local written = texts[ms]
      if not written then written = format("%d", ms) texts[ms] = written end
      call("SET", keys[place], type(value) == "number" and format("%d", value) or value, "PX", written)
    else
      call("DEL", keys[place])
    end
  end
  for key, needed_ms in pairs(changes) do write_list(key, needed_ms) end
end
