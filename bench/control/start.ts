// How long a node takes to start from the snapshot on its disk while the control plane is unavailable: from the start of the
// process until its listeners are open.

import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";
import { newFolder, rulesText, snapshotText, startFollower } from "./nodes.js";

const KEYS = effort({ full: 100_000, quick: 1_000 });
const RULES = effort({ full: 1_000, quick: 10 });
const TENANTS = effort({ full: 1_000, quick: 10 });
const ROUNDS = effort({ full: 9, quick: 2 });
/** Nothing listens there. */
const AWAY = "http://127.0.0.1:9";

export const controlStart: Bench<readonly number[]> = {
  id: "control/start",
  unit: "ms",
  bound: { is: "at most", bar: 3_000, goal: 1_000 },
  parts: ["all"],
  runPart: measure,
  conclude: ([times]) => [
    {
      subject: `start from a snapshot with ${KEYS} API keys and ${RULES} rules`,
      ...summarise(times),
    },
  ],
};

async function measure(): Promise<readonly number[]> {
  const folder = newFolder();
  const snapshot = join(folder, "node.snapshot");
  writeFileSync(snapshot, snapshotText([...toEntities()]));
  try {
    const times: number[] = [];
    // The first round is dropped: it brings the files into the system's cache.
    for (let round = -1; round < ROUNDS; round++) {
      const tookMs = await startOnce(snapshot);
      if (round >= 0) times.push(tookMs);
    }
    return times;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function startOnce(snapshot: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const child = startFollower({ url: AWAY, snapshot, node: "node" }, (id) => {
      child.kill("SIGKILL");
      if (id === "first") resolve(performance.now() - startMs);
      else reject(new Error(`it started with the rule "${id}"`));
    });
    child.once("error", reject);
  });
}

function* toEntities(): Iterable<object> {
  const body = { status: "published", text: rulesText("first", RULES), note: "", basedOn: 0 };
  yield { kind: "rule-set", id: "0000000001", sequence: 1, body };
  for (let n = 0; n < TENANTS; n++) {
    const tenant = { timeZone: "UTC", billingAnchor: 1, attributes: {}, status: "active" };
    yield { kind: "tenant", id: `tenant-${n}`, sequence: 2 + n, body: tenant };
  }
  for (let n = 0; n < KEYS; n++) {
    const id = String(n).padStart(12, "0");
    const hash = createHash("sha256").update(id).digest("hex");
    const key = { tenant: `tenant-${n % TENANTS}`, name: id, scopes: [], hash, createdAtMs: 1 };
    yield { kind: "api-key", id, sequence: 2 + TENANTS + n, body: key };
  }
}
