-- Asks Sluice about each request of HAProxy: the action lua.sluice lets it pass or answers in its place.
local SLUICE = "http://127.0.0.1:8082/check"
local ASK_MS_MAX = 250
-- Whether requests pass while Sluice does not answer.
local FAIL_OPEN = false

-- Of this connection and this body only, or what a client must not say in HAProxy's name.
local DROPPED = { "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
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

local function refuse(txn, status, answer)
  local reply = txn:reply{ status = status, body = answer and answer.body or "" }
  for _, name in ipairs({ "content-type", "cache-control", "retry-after", "ratelimit", "ratelimit-policy" }) do
    local values = answer and answer.headers[name]
    if values then reply:add_header(name, values[0]) end
  end
  txn:done(reply)
end

core.register_action("sluice", { "http-req" }, function(txn)
  local answer = core.httpclient():get(toQuestion(txn))
  local status = answer and answer.status or 0
  if status == 204 then
    for name, variable in pairs({ ratelimit = "txn.ratelimit", ["ratelimit-policy"] = "txn.ratelimit_policy" }) do
      if answer.headers[name] then txn:set_var(variable, answer.headers[name][0]) end
    end
  elseif status == 429 or status == 403 or (status == 503 and answer.headers["content-type"]
      and answer.headers["content-type"][0] == "application/problem+json") then
    refuse(txn, status, answer)
  elseif not FAIL_OPEN then
    refuse(txn, 503, nil)
  end
end)
