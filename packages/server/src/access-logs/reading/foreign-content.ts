// Files that have no lines as they are, such as archives of formats that are not read here. Their bytes would be millions of
// malformed lines, or a format that is not known, and neither says what to do.

const DECOMPRESS = "decompress it, and pass it as - (standard input)";
const UTF16 = "in UTF-16; convert it to UTF-8 first, such as with iconv";

/** What the first bytes of files say they are, in hexadecimal. */
const SIGNATURES: readonly (readonly [hex: string, what: string])[] = [
  ["425a68", `compressed with bzip2; ${DECOMPRESS}`],
  ["fd377a585a00", `compressed with xz; ${DECOMPRESS}`],
  ["04224d18", `compressed with lz4; ${DECOMPRESS}`],
  ["1f9d", `compressed with compress; ${DECOMPRESS}`],
  ["504b0304", `a zip archive; ${DECOMPRESS}`],
  ["fffe", UTF16],
  ["feff", UTF16],
];

/** What a file that begins so is, and what to do; undefined if it may have lines. */
export function foreignContent(head: Buffer): string | undefined {
  const start = head.toString("hex", 0, 8);
  return SIGNATURES.find(([hex]) => start.startsWith(hex))?.[1];
}
