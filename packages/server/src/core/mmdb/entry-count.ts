// Counts the networks in an MMDB file: the records of its search tree that point to data. The format has no number of
// them, only that of tree nodes.

/** The shape of a search tree, as the metadata of a file has it. */
export interface TreeShape {
  readonly nodeCount: number;
  /** Bits of a record: 24, 28 or 32. Each node has two. */
  readonly recordSize: number;
}

/** How many records of the tree point to data. Networks that share their data count one by one. */
export function countEntries(file: Buffer, { nodeCount, recordSize }: TreeShape): number {
  const readNode = NODE_READERS[recordSize];
  const nodeBytes = recordSize / 4;
  if (readNode === undefined || file.length < nodeCount * nodeBytes) {
    const seen = `${nodeCount} nodes with records of ${recordSize} bits in ${file.length} bytes`;
    throw new Error(`invalid search tree: ${seen}`);
  }
  let entries = 0;
  for (let at = 0; at < nodeCount * nodeBytes; at += nodeBytes) {
    // The number of nodes itself stands for nothing; what is above it is a place in the data.
    entries += readNode(file, at, nodeCount);
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
