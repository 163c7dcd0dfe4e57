import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, it } from "vitest";
import { startGateway, startUpstream, stopAll } from "../../../test/proxy-fixture.js";

afterEach(stopAll);

const SERVICE_MS = 40;
/** As many turns of `SERVICE_MS` a change of the limit may take. */
const TURNS_MAX = 250;
/** A probe lowers the limit for a moment only. */
const IN_ROW = 15;
/** By how many more requests than there is room for each turn overloads. */
const EXCESS = 2;
const SAME = { high: 1, normal: 1, low: 1 };

/**
 * A gateway in front of a real upstream that answers as many requests as it has workers in each turn, the others wait in
 * line. Time passes only between turns, and a turn ends when all that it caused has happened: the upstream has what was
 * admitted, and the clients have their responses. So nothing depends on how busy the machine is.
 */
async function startOverload(algorithm: "gradient" | "aimd" | "vegas") {
  const clock = new ManualClock(1_700_000_000_000);
  const line: (() => void)[] = [];
  const upstream = await startUpstream((_, response) => line.push(() => response.end("ok")));
  const { url, core } = await startGateway(upstream, {
    upstream: { adaptive: { algorithm, min: 1, max: 40, initial: 12, shares: SAME } },
    core: { clock },
  });
  const counts = { sent: 0, served: 0, shed: 0 };
  const sending: Promise<void>[] = [];
  const send = async () => {
    counts.sent++;
    const response = await fetch(url);
    await response.text();
    if (response.status === 200) counts.served++;
    else if (response.status === 503) counts.shed++;
  };
  const limitNow = () => core.telemetry.top().upstreams?.[0].limit ?? 0;
  const turn = async (workers: number) => {
    for (let i = limitNow() + EXCESS - line.length; i > 0; i--) sending.push(send());
    while (counts.served + line.length + counts.shed < counts.sent) await nextTurn();
    clock.advance(SERVICE_MS);
    const served = counts.served + Math.min(workers, line.length);
    for (const answer of line.splice(0, workers)) answer();
    while (counts.served < served) await nextTurn();
  };
  /** Takes turns until the limit has been so in this many of them in a row. */
  const until = async (workers: number, isSo: (limit: number) => boolean, inRowMin: number) => {
    for (let turns = 0, inRow = 0; inRow < inRowMin; turns++) {
      if (turns === TURNS_MAX) throw new Error(`the limit is ${limitNow()}, not ${isSo}`);
      await turn(workers);
      inRow = isSo(limitNow()) ? inRow + 1 : 0;
    }
  };
  const end = async () => {
    for (const answer of line.splice(0)) answer();
    await Promise.all(sending);
  };
  return { until, counts, end };
}

/** A turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe.each(["gradient", "aimd", "vegas"] as const)("%s over a real upstream", (algorithm) => {
  it("falls when the upstream loses most of its capacity under load, and comes back with it", async () => {
    const { until, counts, end } = await startOverload(algorithm);
    await until(10, (limit) => limit >= 14, 1);
    await until(1, (limit) => limit <= 11, IN_ROW);
    await until(10, (limit) => limit >= 14, 1);
    await end();
    expect(counts.shed).toBeGreaterThan(0);
    expect(counts.served + counts.shed).toBe(counts.sent);
  });
});
