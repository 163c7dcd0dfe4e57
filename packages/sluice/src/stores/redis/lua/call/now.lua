-- The time: ARGV[1] in ms, or "" for the server's own.

local now = tonumber(ARGV[1])
if not now then
  -- Redis time, not that of its clients: they can disagree by more than a short window.
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
