// Exact arithmetic on whole numbers. A float that drifts shows as an off-by-one at a boundary,
// so rates become fractions of whole numbers, and products that a double can't hold are
// computed in digits. Every division says how it rounds.

/** A positive fraction in lowest terms. */
export interface Fraction {
  readonly numerator: number;
  readonly denominator: number;
}

/** A double that was computed may be off by a few units in its last place, this share of it. */
const ROUNDING_ERROR = 2 ** -49;

/**
 * The simplest fraction within rounding error of `value`: 0.1 is 1/10, 100 / 60 is 5/3 and
 * 0.1 + 0.2 is 3/10. `value` must be positive and finite. Returns undefined where the fraction
 * needs numbers of 2^53 and above. Runs once for each limit made, so it can afford BigInt.
 */
export function toFraction(value: number): Fraction | undefined {
  let [dividend, divisor] = toBinaryFraction(value);
  let [previousP, p] = [0n, 1n];
  let [previousQ, q] = [1n, 0n];
  // The continued fraction of the exact value ends after some 1,100 terms at the very most.
  while (divisor > 0n) {
    const whole = dividend / divisor;
    [dividend, divisor] = [divisor, dividend % divisor];
    [previousP, p] = [p, whole * p + previousP];
    [previousQ, q] = [q, whole * q + previousQ];
    if (Math.abs(Number(p) / Number(q) - value) <= value * ROUNDING_ERROR) break;
  }
  const fraction = { numerator: Number(p), denominator: Number(q) };
  const holds =
    Number.isSafeInteger(fraction.numerator) && Number.isSafeInteger(fraction.denominator);
  return holds ? fraction : undefined;
}

function toBinaryFraction(value: number): [bigint, bigint] {
  let numerator = value;
  let bits = 0n;
  for (; !Number.isInteger(numerator); numerator *= 2) bits++;
  return [BigInt(numerator), 1n << bits];
}

/** The greatest common divisor of two positive whole numbers. */
export function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

const DIGIT = 2 ** 17;
const DIGITS = [DIGIT ** 3, DIGIT ** 2, DIGIT, 1];

/**
 * `ceil(a × b / divisor)`, exactly, for whole numbers with a ≤ 2^53, b ≤ divisor ≤ 2^35.
 * A product beyond 2^53 is divided digit by digit, as on paper: every intermediate value stays
 * below 2^53, so nothing is rounded but the result, which is rounded up.
 */
export function multiplyDivideUp(a: number, b: number, divisor: number): number {
  const product = a * b;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.ceil(product / divisor);
  let quotient = 0;
  let remainder = 0;
  for (const weight of DIGITS) {
    const digit = Math.floor(a / weight) % DIGIT;
    const part = remainder * DIGIT + digit * b;
    const whole = Math.floor(part / divisor);
    quotient = quotient * DIGIT + whole;
    remainder = part - whole * divisor;
  }
  return remainder > 0 ? quotient + 1 : quotient;
}

/**
 * Divides two whole numbers below 2^53 and rounds up. Exact: a quotient that is not a whole number is
 * at least 1/b away from one, and with a below 2^53 that survives the rounding of the double.
 */
export function divideUp(a: number, b: number): number {
  return Math.ceil(a / b);
}

/** Divides two whole numbers below 2^53 and rounds down; exact for the same reason. */
export function divideDown(a: number, b: number): number {
  return Math.floor(a / b);
}
