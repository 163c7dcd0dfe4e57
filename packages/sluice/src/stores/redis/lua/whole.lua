-- Exact arithmetic on whole numbers, the twin of algorithms/whole.ts.

local MAX_SAFE = 9007199254740991
local DIGIT = 131072
local DIGITS = { DIGIT * DIGIT * DIGIT, DIGIT * DIGIT, DIGIT, 1 }

-- ceil(a * b / divisor), digit by digit where the product does not fit a double.
local function multiply_divide_up(a, b, divisor)
  local product = a * b
  if product <= MAX_SAFE then return math.ceil(product / divisor) end
  local quotient, remainder = 0, 0
  for _, weight in ipairs(DIGITS) do
    local digit = math.floor(a / weight) % DIGIT
    local part = remainder * DIGIT + digit * b
    local whole = math.floor(part / divisor)
    quotient = quotient * DIGIT + whole
    remainder = part - whole * divisor
  end
  if remainder > 0 then return quotient + 1 end
  return quotient
end

-- Writes a whole number in full: what Lua does by itself keeps 14 digits.
local function text(number)
  return string.format("%.0f", number)
end
