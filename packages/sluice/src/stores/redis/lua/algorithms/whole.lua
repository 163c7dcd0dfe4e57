-- Exact arithmetic on whole numbers, the twin of algorithms/whole-numbers.ts.

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local MAX_SAFE = 9007199254740991
local DIGIT = 131072
local DIGITS = { DIGIT * DIGIT * DIGIT, DIGIT * DIGIT, DIGIT, 1 }

-- ceil(a * b / divisor), digit by digit where the product does not fit a double.
local function multiply_divide_up(a, b, divisor)
  local product = a * b
  if product <= MAX_SAFE then return ceil(product / divisor) end
  local quotient, remainder = 0, 0
  for _, weight in ipairs(DIGITS) do
    local digit = floor(a / weight) % DIGIT
    local part = remainder * DIGIT + digit * b
    local whole = floor(part / divisor)
    quotient = quotient * DIGIT + whole
    remainder = part - whole * divisor
  end
  if remainder > 0 then return quotient + 1 end
  return quotient
end

local format = string.format

-- Writes a whole number in full: what Lua does by itself keeps 14 digits. Only where strings are
-- joined; a command takes numbers as they are.
local function text(number)
  return format("%d", number)
end

-- An instant and a smaller number as one integer, which Redis keeps in a third of the memory of a
-- text. As a double where that holds both, so that neither side has to parse it, else as a 1, 12
-- digits of the instant and 6 of the other. Nothing if they don't fit.
local PACK_EPOCH_MS, PACK_MS_MAX, PACK_SPAN, PACK_SMALL_MAX = 1704067200000, 1e12, 8192, 999999

local function pack(instant, small)
  local ms = instant - PACK_EPOCH_MS
  if ms < 0 or ms >= PACK_MS_MAX then return end
  if small < PACK_SPAN then return ms * PACK_SPAN + small end
  if small <= PACK_SMALL_MAX then return format("1%012d%06d", ms, small) end
end

-- Until when a bucket is kept that is full at an instant: to the end of the step of time that the
-- instant lies in. Whatever stays in its step needs no new TTL, which would cost more than its value.
local KEPT_STEP_MS = 8192

local function kept_until(full_at)
  return (floor(full_at / KEPT_STEP_MS) + 1) * KEPT_STEP_MS
end

-- What was packed. `number` is the value as a number without its sign, which may have been rounded.
local function unpack_value(value, number)
  if number <= MAX_SAFE then
    local small = number % PACK_SPAN
    return (number - small) / PACK_SPAN + PACK_EPOCH_MS, small
  end
  return tonumber(string.sub(value, -18, -7)) + PACK_EPOCH_MS, tonumber(string.sub(value, -6))
end

-- What does not fit that: a letter that says what it is, and doubles.
local THREE, THREE_LENGTH, FIVE, FIVE_LENGTH = "<c1ddd", 25, "<c1ddddd", 41

-- Whether a value begins with this letter.
local function is_text(value, letter)
  return type(value) == "string" and string.sub(value, 1, 1) == letter
end

-- Whether a value is of this kind: another algorithm may have left its own under the name.
local function is(value, letter, length)
  return type(value) == "string" and #value == length and string.byte(value) == string.byte(letter)
end
