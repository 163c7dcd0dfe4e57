// Which of the 16,384 slots of a Redis Cluster a key belongs to, by the cluster specification.

/** The number of slots in every cluster. */
export const slotCount = 16_384;

/**
 * The slot of a key: CRC16 of what stands between the first `{` and the next `}`, or of the whole
 * key if there is nothing between them.
 */
export function slotOf(key: string): number {
  const bytes = Buffer.from(key);
  const open = bytes.indexOf("{");
  const close = open < 0 ? -1 : bytes.indexOf("}", open + 1);
  const hashed = close > open + 1 ? bytes.subarray(open + 1, close) : bytes;
  return crc16(hashed) % slotCount;
}

const polynomial = 0x1021;

function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000) === 0 ? crc << 1 : ((crc << 1) ^ polynomial) & 0xffff;
  }
  return crc & 0xffff;
}
