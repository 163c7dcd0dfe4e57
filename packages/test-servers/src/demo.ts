// `sluice demo` in a process of its own: what a new user opens first. Its dashboard has to be built.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { atExit } from "./at-exit.js";
import { sleep } from "./clock.js";
import { findFreePort, loopback } from "./free-port.js";

/** A demo that runs. It ends with the process that started it. */
export interface Demo {
  /** `http://127.0.0.1:12345/dashboard/`. */
  readonly dashboard: string;
  /** `http://127.0.0.1:12346`. */
  readonly gateway: string;
  stop(): Promise<void>;
}

const TRIES_MAX = 600;
const ASK_AGAIN_MS = 50;

/** Starts the demo of the repository in the working directory, on free ports of the loopback address. */
export async function startDemo(): Promise<Demo> {
  const gateway = `${loopback}:${await findFreePort()}`;
  const admin = `${loopback}:${await findFreePort()}`;
  const child = spawn(process.execPath, [resolve("packages/server/bin/sluice.js"), "demo"], {
    env: { ...process.env, SLUICE_GATEWAY_LISTEN: gateway, SLUICE_ADMIN_LISTEN: admin },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const forget = atExit(() => child.kill("SIGKILL"));
  const dashboard = `http://${admin}/dashboard/`;
  const stop = async () => {
    forget();
    if (child.exitCode !== null) return;
    child.kill("SIGINT");
    await once(child, "exit");
  };
  try {
    await untilAnswered(dashboard, () => child.exitCode !== null);
  } catch (error) {
    await stop();
    throw error;
  }
  return { dashboard, gateway: `http://${gateway}`, stop };
}

async function untilAnswered(url: string, hasEnded: () => boolean): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (hasEnded()) throw new Error("the demo ended before it answered");
    const isThere = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isThere) return;
    await sleep(ASK_AGAIN_MS);
  }
  throw new Error(`the demo did not answer after ${TRIES_MAX} tries`);
}
