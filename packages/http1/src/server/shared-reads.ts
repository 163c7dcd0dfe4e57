// Reads accepted connections into one buffer that all of them share. Node allocates 64 KiB for each read of a socket,
// shrinks them to what arrived, and passes the bytes through a stream: about 1.5 µs in a bare server of node:net, and a
// seventh of a refusal (bench service/reject). `net.connect` has an option that avoids this, `onread`; `net.Server` has
// none. So this sets on an accepted socket what that option would have set.

import { Socket } from "node:net";

/** Called with bytes that are overwritten after it returns: copy what you keep. */
export type OnBytes = (bytes: Buffer) => void;

/** As much as Node reads in one call. */
const READ_BYTES_MAX = 65_536;

/** The internals of Node's sockets that `onread` uses. */
interface Internals {
  readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null;
  [symbol: symbol]: unknown;
}

const symbols = Object.getOwnPropertySymbols(new Socket());
const BUFFER = symbols.find(({ description }) => description === "kBuffer");
const CALLBACK = symbols.find(({ description }) => description === "kBufferCb");

const shared = Buffer.allocUnsafeSlow(READ_BYTES_MAX);

/**
 * Passes what a socket receives to `onBytes`, from its next `resume` on. The socket must not have been read from yet.
 * False if this version of Node or this socket (such as one over TLS) does not support it: then listen to `data`.
 */
export function readShared(socket: Socket, onBytes: OnBytes): boolean {
  const internals = socket as unknown as Internals;
  const handle = internals._handle;
  if (BUFFER === undefined || CALLBACK === undefined) return false;
  if (socket.constructor !== Socket || typeof handle?.useUserBuffer !== "function") return false;
  internals[BUFFER] = shared;
  internals[CALLBACK] = (length: number) => onBytes(shared.subarray(0, length));
  handle.useUserBuffer(shared);
  return true;
}
