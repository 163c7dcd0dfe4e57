// What the client costs where nothing is refused: requests through it for each second of this process's processor time,
// over fetch itself. The server is a process of its own, and reports a quota with every response.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createFetch } from "sluice/client";
import { type Bench, type Finding, toFinding } from "../bench.js";
import { type Comparison, type Contender, interleave, type Run, toComparison } from "../harness.js";

const CALLERS = 20;
/** Short rounds, and many: some of them have a collection of garbage, and others none. */
const OPERATIONS = 2_000;
const ROUNDS = 61;

const serverPath = fileURLToPath(new URL("../http/server.js", import.meta.url));

type AskOne = (url: string) => Promise<Response>;

async function measure(): Promise<readonly Comparison[]> {
  const server = fork(serverPath, ["node/sluice"]);
  const [port] = await once(server, "message");
  const url = `http://127.0.0.1:${port}/`;
  const [ours, withoutEnd, bare, withEnd] = (await interleave(
    [
      toContender("createFetch", url, createFetch()),
      toContender("createFetch, no deadline", url, createFetch({ deadlineMs: Infinity })),
      toContender("fetch", url, (at) => fetch(at)),
      toContender("fetch with AbortSignal.timeout", url, (at) =>
        fetch(at, { signal: AbortSignal.timeout(60_000) }),
      ),
    ],
    { operations: OPERATIONS, rounds: ROUNDS, isByCpu: true },
  )) as [Run, Run, Run, Run];
  server.disconnect();
  return [toComparison(ours, bare), toComparison(ours, withEnd), toComparison(withoutEnd, bare)];
}

function toContender(name: string, url: string, ask: AskOne): Contender {
  return {
    name,
    run: async (operations) => {
      let left = operations;
      let ok = 0;
      const call = async () => {
        while (left-- > 0) {
          const response = await ask(url);
          await response.text();
          if (response.ok) ok++;
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, call));
      return ok;
    },
  };
}

/** Requests through the wrapper. */
export const overhead: Bench<readonly Comparison[]> = {
  id: "client/overhead",
  unit: "ratio",
  bound: { is: "at least", bar: 0.9, goal: 0.97 },
  parts: ["all"],
  runPart: measure,
  conclude([[judged, ...beside]]) {
    const rest = beside.map((each): Finding => ({ ...toFinding(each), isJudged: false }));
    return [toFinding(judged as Comparison), ...rest];
  },
};
