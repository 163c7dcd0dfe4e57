// Starts a service for measurements of its Live page, and opens pages there.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ClientRequest, get } from "node:http";
import { fileURLToPath } from "node:url";
import {
  failure,
  PROXY_CPU,
  type RunningProxy,
  readCpuSeconds,
  readResidentBytes,
  startProxies,
} from "../service/proxies-load.js";
import type { LivePorts } from "./live-server.js";

const script = fileURLToPath(new URL("live-server.js", import.meta.url));

/** A service that runs. */
export interface LiveService {
  readonly gateway: RunningProxy;
  /** Opens Live pages; each has got its first event when it resolves. Returns what closes them. */
  openPages(count: number): Promise<() => void>;
  /** Memory of the process after a collection of garbage, in bytes. */
  memoryBytes(): Promise<number>;
  stop(): void;
}

/** Starts a service on the processor of what is measured, and its upstream on the other one. */
export async function startLiveService(): Promise<LiveService> {
  const { upstream, stop: stopUpstream } = await startProxies([]);
  const args = ["-c", PROXY_CPU, process.execPath, "--expose-gc", script, `${upstream.port}`];
  const child = spawn("taskset", args, { stdio: ["ignore", 2, 2, "ipc"] });
  const [ports] = (await Promise.race([once(child, "message"), failure(child, "service")])) as [
    LivePorts,
  ];
  const pid = child.pid as number;
  const stop = () => {
    child.disconnect();
    stopUpstream();
  };
  return {
    gateway: {
      name: "gateway",
      port: ports.gateway,
      cpuSeconds: () => readCpuSeconds(pid),
      residentBytes: () => readResidentBytes(pid),
      stop,
    },
    openPages: (count) => openPages(ports.admin, count),
    memoryBytes: async () => {
      child.send("memory");
      const [bytes] = await once(child, "message");
      return bytes as number;
    },
    stop,
  };
}

async function openPages(port: number, count: number): Promise<() => void> {
  const pages: ClientRequest[] = [];
  for (let i = 0; i < count; i++) {
    const page = get(`http://127.0.0.1:${port}/v1/live`, { agent: false });
    const [response] = await once(page, "response");
    response.resume();
    await once(response, "data");
    pages.push(page);
  }
  return () => {
    for (const page of pages) page.destroy();
  };
}
