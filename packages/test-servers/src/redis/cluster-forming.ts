// How single nodes become a cluster: they meet, share the slots, and replicas choose their
// primary. Nodes learn of each other by gossip, so each step ends when every node knows.

import { waitFor } from "../clock.js";
import { parseFields, type RedisProcess } from "./redis-process.js";
import { slotCount } from "./slot.js";

const formedMsMax = 30_000;

/** Joins fresh nodes: the first `primaries` of them share the slots, the others replicate them. */
export async function formCluster(
  nodes: readonly RedisProcess[],
  primaries: number,
): Promise<void> {
  const owners = nodes.slice(0, primaries);
  const replicas = nodes.slice(primaries);
  await Promise.all(owners.map((node, i) => giveSlots(node, i, primaries)));
  await introduce(nodes);
  await waitFor("all nodes to know each other", formedMsMax, () => allSee(nodes, () => true));
  await Promise.all(replicas.map((node, i) => follow(node, owners[i % primaries] as RedisProcess)));
  await waitFor("all nodes to know the replicas", formedMsMax, () =>
    allSee(nodes, (lines) => lines.filter(isReplica).length === replicas.length),
  );
  await waitFor("a whole cluster in sync", formedMsMax, async () => {
    const whole = await Promise.all(nodes.map(isWhole));
    const inSync = await Promise.all(replicas.map(isInSync));
    const listed = await Promise.all(nodes.map((node) => listsReplicas(node, replicas.length)));
    return [...whole, ...inSync, ...listed].every(Boolean) || undefined;
  });
}

/** The id of a node in its cluster. */
export async function idOf(node: RedisProcess): Promise<string> {
  return String(await node.command("CLUSTER", "MYID"));
}

async function giveSlots(node: RedisProcess, index: number, primaries: number): Promise<void> {
  const border = (i: number) => Math.floor((i * slotCount) / primaries);
  await node.command("CLUSTER", "ADDSLOTSRANGE", border(index), border(index + 1) - 1);
  // Epochs that differ from the start spare the nodes a round of settling who goes first.
  await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
}

// Every pair in parallel: waiting for gossip alone takes seconds.
async function introduce(nodes: readonly RedisProcess[]): Promise<void> {
  for (const [i, node] of nodes.entries())
    for (const other of nodes.slice(i + 1))
      await node.command("CLUSTER", "MEET", other.host, other.port);
}

async function follow(replica: RedisProcess, primary: RedisProcess): Promise<void> {
  const id = await idOf(primary);
  // Until the gossip about its primary's slots has arrived, a node may refuse to follow it.
  await waitFor("a replica to follow", formedMsMax, () =>
    replica.command("CLUSTER", "REPLICATE", id),
  );
}

async function allSee(
  nodes: readonly RedisProcess[],
  isComplete: (lines: string[]) => boolean,
): Promise<true | undefined> {
  const tables = await Promise.all(nodes.map((node) => node.command("CLUSTER", "NODES")));
  const complete = tables.filter((table) => {
    const lines = String(table).trimEnd().split("\n");
    const isSettled = !/handshake|fail|noaddr/.test(String(table));
    return lines.length === nodes.length && isSettled && isComplete(lines);
  });
  return complete.length === nodes.length || undefined;
}

function isReplica(line: string): boolean {
  return (line.split(" ")[2] ?? "").includes("slave");
}

async function isWhole(node: RedisProcess): Promise<boolean> {
  const info = parseFields(String(await node.command("CLUSTER", "INFO")));
  return info.cluster_state === "ok" && Number(info.cluster_slots_ok) === slotCount;
}

// A node lists a replica for clients only when it has heard that the replica has data.
async function listsReplicas(node: RedisProcess, count: number): Promise<boolean> {
  const ranges = (await node.command("CLUSTER", "SLOTS")) as unknown[][];
  // Each range is its first slot, its last slot, its primary, and then its replicas.
  return ranges.reduce((sum, range) => sum + range.length - 3, 0) === count;
}

async function isInSync(replica: RedisProcess): Promise<boolean> {
  return (await replica.info("replication")).master_link_status === "up";
}
