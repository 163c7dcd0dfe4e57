// Which store a node counts in. Nodes with one id count together, so what one of them knows of a counter, all do.

import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { randomId } from "../../base/random-id.js";
import type { Config } from "../../config/config.js";
import type { NodeStore } from "../../control/feed/node-question.js";

const ID_BYTES = 12;
const ID_CHARS = 24;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The store of a configuration. That of memory has another id each time: ask once for each node. */
export function toNodeStore({ store }: Pick<Config, "store">): NodeStore {
  if (store.kind === "memory") return { kind: "memory", id: `memory-${randomId(ID_BYTES)}` };
  const parts = [store.kind, ...addressOf(store.url), store.keyPrefix ?? ""];
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return { kind: store.kind, id: `${store.kind}-${digest.slice(0, ID_CHARS)}` };
}

/** Host, port and database, without names and passwords; of a store on this machine, with its name. */
function addressOf(url: string): string[] {
  if (!URL.canParse(url)) return [url];
  const { hostname: host, port, pathname } = new URL(url);
  return [host, port, pathname, LOOPBACK.test(host) ? hostname() : ""];
}
