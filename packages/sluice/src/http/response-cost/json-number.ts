// A number of JSON that arrives in pieces: its grammar, and its value if it is short enough to be one.

/** Numbers with more characters have no value: they are not a number of units. */
const NUMBER_BYTES_MAX = 64;

// Where in a number the last character stands.
const MINUS = 0;
const ZERO = 1;
const INTEGER = 2;
const POINT = 3;
const FRACTION = 4;
const EXPONENT = 5;
const EXPONENT_SIGN = 6;
const EXPONENT_DIGITS = 7;

/** The number that is being read. */
export class JsonNumber {
  #part = MINUS;
  #text = "";
  #isKept = false;

  /**
   * Begins with its first character. False if no number does.
   *
   * @param isKept - Whether its value will be asked for.
   */
  begin(byte: number, isKept: boolean): boolean {
    this.#isKept = isKept;
    this.#text = isKept ? String.fromCharCode(byte) : "";
    if (byte === 0x2d) this.#part = MINUS;
    else if (byte === 0x30) this.#part = ZERO;
    else if (isDigit(byte)) this.#part = INTEGER;
    else return false;
    return true;
  }

  /** Reads on; returns where the number ends, or `to`. */
  read(bytes: Uint8Array, from: number, to: number): number {
    let part = this.#part;
    let i = from;
    for (; i < to; i++) {
      const after = next(part, bytes[i]);
      if (after < 0) break;
      part = after;
    }
    this.#part = part;
    if (this.#isKept) this.#keep(bytes, from, i);
    return i;
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    for (let i = from; i < to && this.#text.length <= NUMBER_BYTES_MAX; i++) {
      this.#text += String.fromCharCode(bytes[i]);
    }
  }

  /** Whether it may end here. */
  get isWhole(): boolean {
    const part = this.#part;
    return part === ZERO || part === INTEGER || part === FRACTION || part === EXPONENT_DIGITS;
  }

  /** Undefined if it is too long, or was not kept. */
  get value(): number | undefined {
    const { length } = this.#text;
    return length === 0 || length > NUMBER_BYTES_MAX ? undefined : Number(this.#text);
  }
}

/** The part that a character leads to; -1 if it is not a part of the number. */
function next(part: number, byte: number): number {
  if (isDigit(byte)) return afterDigit(part, byte);
  if (byte === 0x2e) return part === ZERO || part === INTEGER ? POINT : -1;
  if (byte === 0x65 || byte === 0x45) {
    return part === ZERO || part === INTEGER || part === FRACTION ? EXPONENT : -1;
  }
  return (byte === 0x2b || byte === 0x2d) && part === EXPONENT ? EXPONENT_SIGN : -1;
}

function afterDigit(part: number, byte: number): number {
  switch (part) {
    case MINUS:
      return byte === 0x30 ? ZERO : INTEGER;
    case ZERO:
      return -1;
    case INTEGER:
      return INTEGER;
    case POINT:
    case FRACTION:
      return FRACTION;
    default:
      return EXPONENT_DIGITS;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
