// Counts the networks in an MMDB file: the records of its search tree that point to data. The format states
// how many nodes the tree has, but not how many networks.

import { nextTurn } from "../../base/clock.js";

/** The shape of a search tree, as the metadata of a file has it. */
export interface TreeShape {
  readonly nodeCount: number;
  /** Bits of a record: 24, 28 or 32. Each node has two. */
  readonly recordSize: number;
}

/** How many records of the tree point to data. Networks that share their data count one by one. */
export function countEntries(file: Buffer, shape: TreeShape): number {
  return countPart(file, shape, 0, shape.nodeCount);
}

/** How many nodes are looked at before others have their turn: about a millisecond. */
const NODES_A_TURN = 50_000;

/** The same, while requests are decided: large files have millions of nodes. Rejects with the same error. */
export async function countEntriesLater(file: Buffer, shape: TreeShape): Promise<number> {
  let entries = 0;
  for (let from = 0; from < shape.nodeCount; from += NODES_A_TURN) {
    if (from > 0) await nextTurn();
    entries += countPart(file, shape, from, from + NODES_A_TURN);
  }
  return entries;
}

function countPart(file: Buffer, shape: TreeShape, from: number, to: number): number {
  const { nodeCount, recordSize } = shape;
  const readNode = NODE_READERS[recordSize];
  const nodeBytes = recordSize / 4;
  if (readNode === undefined || file.length < nodeCount * nodeBytes) {
    const seen = `${nodeCount} nodes with records of ${recordSize} bits in ${file.length} bytes`;
    throw new Error(`invalid search tree: ${seen}`);
  }
  let entries = 0;
  for (let node = from; node < to && node < nodeCount; node++) {
    // The number of nodes itself stands for nothing; what is above it is a place in the data.
    entries += readNode(file, node * nodeBytes, nodeCount);
  }
  return entries;
}

/** How many of a node's two records point to data. */
type ReadNode = (file: Buffer, at: number, nodeCount: number) => number;

const NODE_READERS: Readonly<Record<number, ReadNode>> = {
  24: (file, at, nodeCount) =>
    countAbove(file.readUIntBE(at, 3), file.readUIntBE(at + 3, 3), nodeCount),
  // The byte in the middle has the highest four bits of both.
  28: (file, at, nodeCount) =>
    countAbove(
      ((file[at + 3] & 0xf0) << 20) | file.readUIntBE(at, 3),
      ((file[at + 3] & 0x0f) << 24) | file.readUIntBE(at + 4, 3),
      nodeCount,
    ),
  32: (file, at, nodeCount) =>
    countAbove(file.readUInt32BE(at), file.readUInt32BE(at + 4), nodeCount),
};

function countAbove(left: number, right: number, nodeCount: number): number {
  return (left > nodeCount ? 1 : 0) + (right > nodeCount ? 1 : 0);
}
