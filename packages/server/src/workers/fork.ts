// Worker processes: copies of this program that share its listening sockets, by Node's cluster module.

import cluster, { type Worker } from "node:cluster";
import type { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import {
  type Channels,
  lineChannel,
  type ProcessEndpoint,
  processChannel,
} from "./channel/channel.js";
import { WORKER_VARIABLE } from "./channel/control-messages.js";
import { watchHandedConnections } from "./handed-connections.js";

const MAIN = fileURLToPath(new URL("./worker/worker-main.js", import.meta.url));

/** File descriptors of a worker: the primary's own, Node's channel, and a pipe for the store at {@link STORE_FD}. */
const STDIO = ["inherit", "inherit", "inherit", "ipc", "pipe"] as const;
const STORE_FD: number = STDIO.indexOf("pipe");

/** A worker process as its primary sees it. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  readonly channels: Channels;
  /** Calls `listener` once when the process has exited, with its exit code or signal. */
  onceExited(listener: (why: string) => void): void;
  /** Kills it immediately. */
  kill(): void;
}

/** Starts a worker process. */
export type Fork = () => WorkerProcess;

/**
 * Starts a worker process. If the configuration is a file, the process runs {@link MAIN}. If it comes from code,
 * it runs this program again with the same arguments. Advanced serialization keeps what JSON loses, such as
 * Infinity.
 */
export function forkWorker(hasFile: boolean): WorkerProcess {
  const program = hasFile ? { exec: MAIN, args: [] } : {};
  cluster.setupPrimary({ serialization: "advanced", stdio: [...STDIO], ...program });
  const worker = cluster.fork({ [WORKER_VARIABLE]: "1" });
  watchHandedConnections(worker.process, () => hasOtherThan(worker));
  return {
    pid: worker.process.pid,
    channels: {
      control: processChannel(toEndpoint(worker, worker.process)),
      store: lineChannel(worker.process.stdio[STORE_FD] as Socket),
    },
    onceExited: (listener) => {
      worker.once("exit", (code: number | null, signal: string | null) =>
        listener(signal === null ? `exit code ${code}` : signal),
      );
    },
    kill: () => worker.process.kill("SIGKILL"),
  };
}

/** Whether a connection that `worker` has not taken can go to another one. */
function hasOtherThan(worker: Worker): boolean {
  return Object.values(cluster.workers ?? {}).some(
    (each) => each !== undefined && each !== worker && each.isConnected(),
  );
}

/** The channels of this process, which {@link forkWorker} started, to its primary. */
export function primaryChannels(): Channels {
  const pipe = new Socket({ fd: STORE_FD });
  // Only Node's channel keeps a worker alive.
  pipe.unref();
  return { control: processChannel(toEndpoint(process, process)), store: lineChannel(pipe) };
}

/** Combines Node's emitter and sender into one endpoint. A message that can't be sent is dropped. */
function toEndpoint(
  receiver: EventEmitter,
  sender: Pick<NodeJS.Process, "connected"> & { send?: NodeJS.Process["send"] },
): ProcessEndpoint {
  return Object.assign(Object.create(null), {
    on: receiver.on.bind(receiver),
    off: receiver.off.bind(receiver),
    once: receiver.once.bind(receiver),
    isConnected: () => sender.connected,
    send: (message: object) => void sender.send?.(message, undefined, undefined, () => {}),
  });
}

/** Whether this process was started by {@link forkWorker}. */
export function isWorkerProcess(): boolean {
  return cluster.isWorker && process.env[WORKER_VARIABLE] !== undefined;
}
