// How long it takes until the last of many followers, each a service in its own process, enforces rules that were
// published; counted from the moment at which the publisher asks.

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";
import { adminUrl, newFolder, publish, rulesText, startControl, startFollower } from "./nodes.js";

const FOLLOWERS = effort({ full: 50, quick: 4 });
const ROUNDS = effort({ full: 15, quick: 3 });
const RULES = 10;

export const controlPublish: Bench<readonly number[]> = {
  id: "control/publish",
  unit: "ms",
  bound: { is: "at most", bar: 2_000, goal: 200 },
  parts: ["all"],
  runPart: measure,
  conclude: ([times]) => [
    {
      subject: `publish until the last of ${FOLLOWERS} followers enforces it`,
      ...summarise(times),
    },
  ],
};

async function measure(): Promise<readonly number[]> {
  const folder = newFolder();
  const control = await startControl(folder, rulesText("first", RULES));
  const latest = new Map<string, string>();
  let look = () => {};
  const children = Array.from({ length: FOLLOWERS }, (_, n) => {
    const node = `follower-${n}`;
    const snapshot = join(folder, `${node}.snapshot`);
    return startFollower({ url: adminUrl(control), snapshot, node }, (id) => {
      latest.set(node, id);
      look();
    });
  });
  const untilAllHave = (id: string) =>
    new Promise<void>((resolve) => {
      look = () => {
        const have = [...latest.values()].filter((each) => each === id).length;
        if (have === FOLLOWERS) resolve();
      };
      look();
    });
  try {
    await untilAllHave("first");
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startMs = performance.now();
      await publish(control, rulesText(`round-${round}`, RULES));
      await untilAllHave(`round-${round}`);
      times.push(performance.now() - startMs);
    }
    return times;
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await control.close();
    rmSync(folder, { recursive: true });
  }
}
