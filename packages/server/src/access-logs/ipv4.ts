// IPv4 addresses as numbers of 32 bits, signed: most clients of a log have one, and a number takes no memory of its own.

const ZERO = 0x30;
const DOT = 0x2e;

/** The address that bytes spell out; NaN for other bytes, and where it is written in another way. */
export function readIpv4(bytes: Buffer, from: number, to: number): number {
  let address = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at] - ZERO;
    if (digit >= 0 && digit <= 9) {
      // No part starts with a zero that it does not need.
      if (digits > 0 && part === 0) return Number.NaN;
      part = part * 10 + digit;
      digits++;
    } else {
      if (bytes[at] !== DOT || digits === 0 || part > 255) return Number.NaN;
      address = (address << 8) | part;
      part = 0;
      digits = 0;
      dots++;
    }
  }
  if (dots !== 3 || digits === 0 || part > 255) return Number.NaN;
  return (address << 8) | part;
}

/** The parts that an address is written with, made once. */
const LAST_PARTS = Array.from({ length: 256 }, (_, part) => `${part}`);
const PARTS = LAST_PARTS.map((part) => `${part}.`);

/** An address as it is written. */
export function toIpv4Text(address: number): string {
  const [a, b, c] = [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255];
  return PARTS[a] + PARTS[b] + PARTS[c] + LAST_PARTS[address & 255];
}
