// How bytes are kept that outlive the read that brought them: copied, and joined before they are too many pieces.

/** The most pieces that are kept separately: a piece of a single byte takes as much memory as one of a hundred. */
export const PIECES_MAX = 64;

/**
 * Returns a copy in memory of its own. `Buffer.from` would take memory from Node's pool, and one byte that is kept
 * would keep 8 KiB of the pool; use that only for a piece that is not one of many.
 */
export function copyApart(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
