// Addresses, normalised once, so that one client has one key however its address is written: IPv4 that
// comes mapped into IPv6 is IPv4, IPv6 is counted by a prefix and written as RFC 5952 has it. Strict, and
// on its own: other spellings are not addresses, and `node:net` is not everywhere where this runs.

// Taken off its prototype, as in stores/memory/hash.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** Longer than any address with a zone has to be. */
const ADDRESS_LENGTH_MAX = 100;
const WORDS = 8;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const IS_ZONE = /^[\w.:-]+$/;
const IS_PORT = /^:(?:\d{1,5}|_[\w.-]{1,64})$/;

/** The family of an address; 0 if it is not an address. */
export type Family = 0 | 4 | 6;

/** Only used between reading an address and looking at it, which nothing comes between. */
const scratch = new Uint16Array(WORDS);

/**
 * The address as it is counted: IPv4 whole, also where it came mapped into IPv6, and IPv6 by its
 * prefix: `203.0.113.10`, `2001:db8:1:2::/64`. A prefix of 128 leaves the address whole, without `/128`.
 * A zone (`%eth0`) is dropped, NAT64 stays IPv6. Undefined if it is not an address.
 */
export function toClientAddress(
  address: string,
  { ipv6Prefix }: { readonly ipv6Prefix: number },
): string | undefined {
  if (isIpv4(address)) return address;
  const family = readAddress(address, scratch);
  if (family === 0) return undefined;
  if (family === 4) return toIpv4Text(scratch);
  maskWords(scratch, ipv6Prefix);
  const text = toIpv6Text(scratch);
  return ipv6Prefix === 128 ? text : `${text}/${ipv6Prefix}`;
}

/** The network of an address by the first bits of its family: `203.0.113.0/24`. */
export function toSubnet(
  address: string,
  { ipv4, ipv6 }: { readonly ipv4: number; readonly ipv6: number },
): string | undefined {
  const family = readAddress(address, scratch);
  if (family === 0) return undefined;
  maskWords(scratch, family === 4 ? 96 + ipv4 : ipv6);
  return family === 4 ? `${toIpv4Text(scratch)}/${ipv4}` : `${toIpv6Text(scratch)}/${ipv6}`;
}

/**
 * The address alone, out of the forms that headers have: with brackets, with a port, both
 * (`[2001:db8::1]:4711`, `203.0.113.7:1234`) or neither. Undefined if that leaves no address.
 */
export function toBareAddress(text: string): string | undefined {
  const trimmed = text.length > 2 * ADDRESS_LENGTH_MAX ? "" : text.trim();
  const bare = withoutPort(trimmed);
  return bare !== undefined && isAddress(bare) ? bare : undefined;
}

function withoutPort(text: string): string | undefined {
  if (text.startsWith("[")) {
    const end = text.indexOf("]");
    const isWhole = end > 0 && (end === text.length - 1 || IS_PORT.test(text.slice(end + 1)));
    const inside = text.slice(1, end);
    return isWhole && inside.includes(":") ? inside : undefined;
  }
  const colon = text.indexOf(":");
  // More than one colon is IPv6, whose last part can't be distinguished from a port.
  if (colon < 0 || text.includes(":", colon + 1)) return text;
  return IS_PORT.test(text.slice(colon)) ? text.slice(0, colon) : undefined;
}

/** Whether a string is an address, of either family, without brackets or port. */
export function isAddress(text: string): boolean {
  return isIpv4(text) || readAddress(text, scratch) !== 0;
}

/**
 * Reads an address into eight words of 16 bits. IPv4, mapped or not, is in the last two; the first six
 * are then those of a mapped address, `::ffff:0:0`. Returns its family, or 0 if it is not an address.
 */
export function readAddress(text: string, words: Uint16Array): Family {
  if (text.length > ADDRESS_LENGTH_MAX) return 0;
  words.fill(0);
  if (readIpv4(text, 0, text.length, words)) {
    words[5] = 0xffff;
    return 4;
  }
  const zone = text.indexOf("%");
  if (zone >= 0 && !IS_ZONE.test(text.slice(zone + 1))) return 0;
  if (!readIpv6(zone < 0 ? text : text.slice(0, zone), words)) return 0;
  return isMapped(words) ? 4 : 6;
}

function isMapped(words: Uint16Array): boolean {
  return words[5] === 0xffff && (words[0] | words[1] | words[2] | words[3] | words[4]) === 0;
}

function isIpv4(text: string): boolean {
  return text.length <= 15 && readIpv4(text, 0, text.length, undefined);
}

/** Four decimal numbers up to 255, without leading zeros: some take those for octal, others don't. */
function readIpv4(text: string, from: number, to: number, words: Uint16Array | undefined): boolean {
  let part = 0;
  let number = -1;
  let bits = 0;
  for (let i = from; i <= to; i++) {
    const code = i === to ? DOT : charCodeAt.call(text, i);
    if (code === DOT) {
      if (number < 0 || part > 3) return false;
      bits = (bits << 8) | number;
      part++;
      number = -1;
    } else {
      const digit = code - ZERO;
      if (digit < 0 || digit > 9 || number === 0) return false;
      number = number < 0 ? digit : number * 10 + digit;
      if (number > 255) return false;
    }
  }
  if (part !== 4) return false;
  if (words !== undefined) {
    words[6] = bits >>> 16;
    words[7] = bits & 0xffff;
  }
  return true;
}

function readIpv6(text: string, words: Uint16Array): boolean {
  let at = 0;
  let count = 0;
  let gap = -1;
  if (text.startsWith("::")) {
    gap = 0;
    at = 2;
  }
  while (at < text.length) {
    if (count === WORDS) return false;
    let end = text.indexOf(":", at);
    if (end < 0) end = text.length;
    if (end === text.length && text.indexOf(".", at) >= 0) {
      if (count > WORDS - 2 || !readIpv4(text, at, end, words)) return false;
      const [high, low] = [words[6], words[7]];
      words[6] = words[7] = 0;
      words[count++] = high;
      words[count++] = low;
      break;
    }
    const word = readHex(text, at, end);
    if (word < 0) return false;
    words[count++] = word;
    if (end === text.length) break;
    at = end + 1;
    if (charCodeAt.call(text, at) === COLON) {
      if (gap >= 0) return false;
      gap = count;
      at++;
    } else if (at === text.length) return false;
  }
  return gap < 0 ? count === WORDS : widen(words, gap, count);
}

/** One to four hexadecimal digits; -1 if they are not. */
function readHex(text: string, from: number, to: number): number {
  if (to === from || to - from > 4) return -1;
  let word = 0;
  for (let i = from; i < to; i++) {
    const code = charCodeAt.call(text, i);
    const letter = (code | 0x20) - 0x61;
    const digit =
      code >= ZERO && code <= 0x39 ? code - ZERO : letter >= 0 && letter < 6 ? letter + 10 : -1;
    if (digit < 0) return -1;
    word = word * 16 + digit;
  }
  return word;
}

/** Expands `::` to the zeros that it stands for, at least one word. */
function widen(words: Uint16Array, gap: number, count: number): boolean {
  if (count === WORDS) return false;
  words.copyWithin(WORDS - (count - gap), gap, count);
  words.fill(0, gap, WORDS - (count - gap));
  return true;
}

/** Clears all bits but the first this many. */
export function maskWords(words: Uint16Array, bits: number): void {
  for (let i = 0; i < WORDS; i++) {
    const kept = Math.min(16, Math.max(0, bits - 16 * i));
    words[i] &= 0xffff << (16 - kept);
  }
}

function toIpv4Text(words: Uint16Array): string {
  return `${words[6] >>> 8}.${words[6] & 0xff}.${words[7] >>> 8}.${words[7] & 0xff}`;
}

/** As RFC 5952: lower case, no leading zeros, `::` for the first of the longest runs of zeros. */
function toIpv6Text(words: Uint16Array): string {
  let start = -1;
  let longest = 1;
  for (let i = 0, run = 0; i < WORDS; i++) {
    run = words[i] === 0 ? run + 1 : 0;
    if (run > longest) {
      longest = run;
      start = i - run + 1;
    }
  }
  let text = "";
  for (let i = 0; i < WORDS; i++) {
    if (i === start) {
      text += "::";
      i += longest - 1;
    } else {
      text += (text === "" || text.endsWith("::") ? "" : ":") + words[i].toString(16);
    }
  }
  return text;
}

/** An address that was read, as a string. */
export function toAddressText(family: Family, words: Uint16Array): string {
  return family === 4 ? toIpv4Text(words) : toIpv6Text(words);
}
