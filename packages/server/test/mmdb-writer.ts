// Writes small MMDB files for tests: IPv4 and IPv6, with records of 24, 28 or 32 bits. By MaxMind DB format 2.0.

import { isIPv4 } from "node:net";

/** What a record may hold. */
type MmdbValue = string | number | { readonly [name: string]: MmdbValue };

/** How a file is written. */
export interface MmdbFileOptions {
  /** Bits of a record in the search tree. Default 24. */
  readonly recordSize?: 24 | 28 | 32;
  /** Default 6, in which IPv4 lies at `::/96`. */
  readonly ipVersion?: 4 | 6;
  /** When it was built, in seconds since 1970. Default: in 2023. */
  readonly buildEpochSeconds?: number;
}

const MARK = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
const SEPARATOR_BYTES = 16;

/** A node that is under construction: each side is another node, or the data of a network. */
interface TreeNode {
  readonly sides: [TreeNode | MmdbValue | undefined, TreeNode | MmdbValue | undefined];
}

/** A whole file with these networks. Wider networks have to come before those inside of them. */
export function toMmdb(
  networks: Readonly<Record<string, MmdbValue>>,
  { recordSize = 24, ipVersion = 6, buildEpochSeconds = 1_700_000_000 }: MmdbFileOptions = {},
): Buffer {
  const root: TreeNode = { sides: [undefined, undefined] };
  for (const [network, record] of Object.entries(networks)) {
    insert(root, toBits(network, ipVersion), record);
  }
  const nodes = listNodes(root);
  const data = new DataSection();
  const toRecord = (side: TreeNode["sides"][number]): number => {
    if (side === undefined) return nodes.length;
    if (isNode(side)) return nodes.indexOf(side);
    return nodes.length + SEPARATOR_BYTES + data.add(side);
  };
  const tree = Buffer.concat(
    nodes.map(({ sides: [left, right] }) =>
      NODE_WRITERS[recordSize](toRecord(left), toRecord(right)),
    ),
  );
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: buildEpochSeconds,
    database_type: "Sluice-Test",
    ip_version: ipVersion,
    node_count: nodes.length,
    record_size: recordSize,
  });
  return Buffer.concat([tree, Buffer.alloc(SEPARATOR_BYTES), data.bytes, MARK, metadata]);
}

function isNode(side: TreeNode | MmdbValue): side is TreeNode {
  return typeof side === "object" && Array.isArray((side as TreeNode).sides);
}

function insert(root: TreeNode, bits: readonly number[], record: MmdbValue): void {
  let node = root;
  for (const bit of bits.slice(0, -1)) {
    const side = node.sides[bit];
    if (side !== undefined && isNode(side)) node = side;
    else {
      // A network inside of another: the rest of the wider one keeps its record.
      const next: TreeNode = { sides: [side, side] };
      node.sides[bit] = next;
      node = next;
    }
  }
  node.sides[bits[bits.length - 1]] = record;
}

function listNodes(root: TreeNode): TreeNode[] {
  const nodes = [root];
  for (let i = 0; i < nodes.length; i++) {
    for (const side of nodes[i].sides) {
      if (side !== undefined && isNode(side)) nodes.push(side);
    }
  }
  return nodes;
}

function toBits(network: string, ipVersion: 4 | 6): readonly number[] {
  const [address, length] = network.split("/");
  const own = isIPv4(address)
    ? address.split(".").flatMap((part) => bitsOf(+part, 8))
    : ipv6(address);
  const bits = own.slice(0, Number(length));
  return isIPv4(address) && ipVersion === 6 ? [...new Array(96).fill(0), ...bits] : bits;
}

function ipv6(address: string): number[] {
  const [front, back = ""] = address.split("::");
  const words = (text: string) => (text === "" ? [] : text.split(":"));
  const missing = 8 - words(front).length - words(back).length;
  const all = [...words(front), ...new Array(missing).fill("0"), ...words(back)];
  return all.flatMap((word) => bitsOf(Number.parseInt(word, 16), 16));
}

function bitsOf(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (value >>> (count - 1 - i)) & 1);
}

const NODE_WRITERS = {
  24: (left: number, right: number) => Buffer.concat([unsigned(left, 3), unsigned(right, 3)]),
  28: (left: number, right: number) => {
    const middle = ((left >>> 24) << 4) | (right >>> 24);
    const low = (value: number) => unsigned(value & 0xffffff, 3);
    return Buffer.concat([low(left), Buffer.from([middle]), low(right)]);
  },
  32: (left: number, right: number) => Buffer.concat([unsigned(left, 4), unsigned(right, 4)]),
};

function unsigned(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

/** The records of a file; equal ones are written once. */
class DataSection {
  readonly #offsets = new Map<string, number>();
  #parts: Buffer[] = [];
  #length = 0;

  add(value: MmdbValue): number {
    const text = JSON.stringify(value);
    const known = this.#offsets.get(text);
    if (known !== undefined) return known;
    const offset = this.#length;
    const encoded = encode(value);
    this.#offsets.set(text, offset);
    this.#parts.push(encoded);
    this.#length += encoded.length;
    return offset;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

const STRING = 2;
const UINT32 = 6;
const MAP = 7;
const LONG_FROM = 29;

function encode(value: MmdbValue): Buffer {
  if (typeof value === "number") return Buffer.concat([control(UINT32, 4), unsigned(value, 4)]);
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "utf8");
    return Buffer.concat([control(STRING, bytes.length), bytes]);
  }
  const entries = Object.entries(value);
  const pairs = entries.flatMap(([name, inner]) => [encode(name), encode(inner)]);
  return Buffer.concat([control(MAP, entries.length), ...pairs]);
}

function control(type: number, size: number): Buffer {
  if (size < LONG_FROM) return Buffer.from([(type << 5) | size]);
  return Buffer.from([(type << 5) | LONG_FROM, size - LONG_FROM]);
}
