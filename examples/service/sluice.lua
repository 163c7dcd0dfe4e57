-- Asks Sluice about each request of HAProxy: the action lua.sluice lets it pass or answers in its place.
local SLUICE = "http://127.0.0.1:8082/check"
local ASK_MS_MAX = 250
-- Whether requests pass while Sluice can't be reached or does not answer in time. An answer always counts.
local FAIL_OPEN = false
-- More does not fit into HAProxy's buffer (tune.bufsize), where it would look like no answer.
local ASK_BYTES_MAX = 14000

-- Of this connection and this body only, or what a client must not say in HAProxy's name.
local DROPPED = { "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
  "content-length", "content-type", "x-forwarded-proto" }

local function toQuestion(txn)
  local headers = txn.http:req_get_headers()
  for _, name in ipairs(DROPPED) do headers[name] = nil end
  headers["x-forwarded-method"] = { txn.f:method() }
  headers["x-forwarded-uri"] = { txn.f:pathq() }
  headers["x-forwarded-host"] = { txn.f:req_hdr("host") or "" }
  headers["x-forwarded-for"] = { txn.f:src() }
  for name, values in pairs(headers) do
    -- HAProxy hands lists out from 0 and takes them from 1.
    if values[0] ~= nil then
      local list = {}
      for i = 0, #values do list[i + 1] = values[i] end
      headers[name] = list
    end
  end
  return { url = SLUICE, headers = headers, timeout = ASK_MS_MAX }
end

local function bytesOf(question)
  local bytes = 0
  for name, values in pairs(question.headers) do
    for _, value in ipairs(values) do bytes = bytes + #name + #value + 4 end
  end
  return bytes
end

local function refuse(txn, status, answer)
  local reply = txn:reply{ status = status, body = answer and answer.body or "" }
  for _, name in ipairs({ "content-type", "cache-control", "retry-after", "ratelimit", "ratelimit-policy" }) do
    local values = answer and answer.headers[name]
    if values then reply:add_header(name, values[0]) end
  end
  txn:done(reply)
end

-- HAProxy's own client reports 503 if there is no connection and 504 if no answer came in time. Every answer of
-- Sluice but a 204 carries X-Sluice-Status.
local function isUnanswered(answer)
  local status = answer and answer.status or 0
  return status == 0 or ((status == 503 or status == 504) and not answer.headers["x-sluice-status"])
end

core.register_action("sluice", { "http-req" }, function(txn)
  local question = toQuestion(txn)
  if bytesOf(question) > ASK_BYTES_MAX then return refuse(txn, 431, nil) end
  local answer = core.httpclient():get(question)
  if isUnanswered(answer) then
    if not FAIL_OPEN then refuse(txn, 503, nil) end
  elseif answer.status == 204 then
    for name, variable in pairs({ ratelimit = "txn.ratelimit", ["ratelimit-policy"] = "txn.ratelimit_policy" }) do
      if answer.headers[name] then txn:set_var(variable, answer.headers[name][0]) end
    end
  elseif answer.status >= 400 then
    refuse(txn, answer.status, answer)
  else
    refuse(txn, 503, nil)
  end
end)
