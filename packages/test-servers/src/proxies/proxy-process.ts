// A proxy that tests put in front of a service: its configuration in a folder of its own, on a free port.

import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { StopWaiting, waitFor } from "../clock.js";
import { makeFolder, removeFolder } from "../folder.js";
import { findFreePort, loopback } from "../free-port.js";
import { Child } from "../programs/child.js";

/** What it takes to start a proxy. */
export interface ProxySpec {
  /** Path of the program. */
  readonly binary: string;
  /** The files of its folder, by name. */
  files(at: ProxyPlace): Readonly<Record<string, string>>;
  /** Its arguments; it has to stay in the foreground. */
  args(at: ProxyPlace): readonly string[];
}

/** Where a proxy runs. */
export interface ProxyPlace {
  readonly port: number;
  readonly folder: string;
}

/** A running proxy. */
export interface ProxyProcess {
  /** `http://127.0.0.1:12345` */
  readonly url: string;
  /** The last lines that it wrote. */
  logTail(): string;
  /** Ends it and removes its folder. May be called again. */
  stop(): Promise<void>;
}

const readyMsMax = 10_000;
const portTriesMax = 5;

/** Starts a proxy on a free port and waits until it takes connections. */
export async function startProxy(spec: ProxySpec): Promise<ProxyProcess> {
  for (let tries = 1; ; tries++) {
    const place = { port: await findFreePort(), folder: makeFolder("test") };
    try {
      return await start(spec, place);
    } catch (error) {
      removeFolder(place.folder);
      // Between our look and the proxy's bind, another process may have taken the port.
      if (tries >= portTriesMax || !/Address already in use/i.test(String(error))) throw error;
    }
  }
}

async function start(spec: ProxySpec, place: ProxyPlace): Promise<ProxyProcess> {
  const { port, folder } = place;
  for (const [name, text] of Object.entries(spec.files(place))) {
    writeFileSync(join(folder, name), text);
  }
  const child = new Child(spec.binary, spec.args(place), folder);
  await waitFor("a connection", readyMsMax, () => {
    if (child.isAlive) return canConnect(port);
    throw new StopWaiting(new Error(`${spec.binary} ended while it started:\n${child.logTail()}`));
  }).catch(async (error) => {
    await child.end("SIGKILL");
    throw error;
  });
  return {
    url: `http://${loopback}:${port}`,
    logTail: () => child.logTail(),
    stop: async () => {
      await child.end("SIGTERM");
      removeFolder(folder);
    },
  };
}

function canConnect(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, loopback);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(undefined));
    socket.once("connect", () => socket.destroy());
  });
}
