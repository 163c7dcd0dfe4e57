// The windows of zstd frames, which a decompressor has to keep in memory: a header of six bytes can ask for two gigabytes.
// Frames are followed by the sizes of their blocks (RFC 8878), so that later frames of a file are checked too.

/** The largest window that is read, as zstd's own tools have it by default (`--long=27`). */
export const WINDOW_BYTES_MAX: number = 2 ** 27;

const MB = 2 ** 20;
const MAGIC = 0xfd2fb528;
/** Frames of other data, which decompressors skip, have one of sixteen numbers. */
const SKIPPABLE = 0x184d2a50;
const HEADER_BYTES_MAX = 18;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const RUN_LENGTH = 1;

/** Follows the frames of one file. */
export class ZstdWindows {
  readonly #head = Buffer.alloc(HEADER_BYTES_MAX);
  #has = 0;
  #needs = 4;
  #state: "magic" | "skippable" | "descriptor" | "header" | "block" = "magic";
  /** Bytes that nothing is to be read from. */
  #skips = 0;
  #checksumBytes = 0;

  /** Looks at bytes that come next. @throws Error if a frame needs a window that is too large. */
  check(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#skips > 0) {
        const skipped = Math.min(this.#skips, bytes.length - at);
        this.#skips -= skipped;
        at += skipped;
        continue;
      }
      this.#head[this.#has++] = bytes[at++];
      if (this.#has === this.#needs) this.#step();
    }
  }

  #step(): void {
    const head = this.#head;
    switch (this.#state) {
      case "magic":
        this.#readMagic(head.readUInt32LE(0));
        break;
      case "skippable":
        this.#skips = head.readUInt32LE(4);
        this.#expect("magic", 4);
        break;
      case "descriptor":
        this.#state = "header";
        this.#needs = headerBytesOf(head[4]);
        break;
      case "header":
        mustFit(windowBytesOf(head));
        this.#checksumBytes = (head[4] & 4) === 0 ? 0 : 4;
        this.#expect("block", 3);
        break;
      case "block":
        this.#readBlock(head.readUIntLE(0, 3));
        break;
    }
  }

  /** What is not a frame is left to the decompressor, which says so. */
  #readMagic(magic: number): void {
    if (magic === MAGIC) [this.#state, this.#needs] = ["descriptor", 5];
    else if ((magic & ~15) >>> 0 === SKIPPABLE) [this.#state, this.#needs] = ["skippable", 8];
    else this.#skips = Number.POSITIVE_INFINITY;
  }

  #readBlock(header: number): void {
    const isLast = (header & 1) === 1;
    const isRun = ((header >> 1) & 3) === RUN_LENGTH;
    this.#skips = (isRun ? 1 : header >> 3) + (isLast ? this.#checksumBytes : 0);
    if (isLast) this.#expect("magic", 4);
    else this.#expect("block", 3);
  }

  #expect(state: "magic" | "block", bytes: number): void {
    this.#state = state;
    this.#needs = bytes;
    this.#has = 0;
  }
}

function isSingleSegment(descriptor: number): boolean {
  return (descriptor & 32) !== 0;
}

/** A frame of one segment has no window of its own, and always says how long it is. */
function contentSizeBytesOf(descriptor: number): number {
  const bytes = CONTENT_SIZE_BYTES[descriptor >> 6];
  return bytes === 0 && isSingleSegment(descriptor) ? 1 : bytes;
}

function headerBytesOf(descriptor: number): number {
  const windowBytes = isSingleSegment(descriptor) ? 0 : 1;
  return 5 + windowBytes + DICTIONARY_BYTES[descriptor & 3] + contentSizeBytesOf(descriptor);
}

function windowBytesOf(head: Buffer): number {
  const descriptor = head[4];
  if (!isSingleSegment(descriptor)) {
    const base = 2 ** (10 + (head[5] >> 3));
    return base + (base / 8) * (head[5] & 7);
  }
  const at = 5 + DICTIONARY_BYTES[descriptor & 3];
  const bytes = contentSizeBytesOf(descriptor);
  if (bytes === 8) return Number(head.readBigUInt64LE(at));
  return head.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}

function mustFit(windowBytes: number): void {
  if (windowBytes <= WINDOW_BYTES_MAX) return;
  throw new Error(
    `a zstd window of ${Math.round(windowBytes / MB)} MB is larger than ${WINDOW_BYTES_MAX / MB} MB: compress the log without --long`,
  );
}
