-- Exact arithmetic on whole numbers, the twin of algorithms/whole.ts.

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

-- Writes a whole number in full: what Lua does by itself keeps 14 digits. Only where texts are
-- joined; a command takes numbers as they are.
local function text(number)
  return string.format("%d", number)
end

-- An instant and a small number as one number, if a double holds both: Redis keeps an integer in a
-- third of the memory of a text, and neither side has to parse it.
local PACK_EPOCH_MS, PACK_SPAN, PACK_MS_MAX = 1704067200000, 8192, 1099511627776

local function pack(instant, small)
  local ms = instant - PACK_EPOCH_MS
  if small < PACK_SPAN and ms >= 0 and ms < PACK_MS_MAX then return ms * PACK_SPAN + small end
end

local function unpack_number(packed)
  local small = packed % PACK_SPAN
  return (packed - small) / PACK_SPAN + PACK_EPOCH_MS, small
end

-- What does not fit that: a letter that tells what it is, and doubles.
local THREE, FIVE = "<c1ddd", "<c1ddddd"

-- Whether a value is of this kind: another algorithm may have left its own under the name.
local function is(value, letter, form)
  return string.sub(value, 1, 1) == letter and #value == struct.size(form)
end
