// Two connections joined into one: bytes go both ways as they are, each way as fast as its reader reads.
// Neither end outlives the other, and a pair on which nothing moves is closed.

import type { Duplex, Readable } from "node:stream";
import { after, type CancelTimer } from "../clock.js";

/** Which two are joined, and what was read of them already. */
export interface TunnelEnds {
  readonly client: Duplex;
  readonly upstream: Duplex;
  /** What the upstream sent behind its head, for the client. */
  readonly upstreamHead: Buffer;
  /** What the client sent behind its head, for the upstream. */
  readonly clientHead: Buffer;
  /** Closed when nothing moved, either way, for so long to twice as long; 0 is no bound. */
  readonly idleMs: number;
}

/** Joins two connections until either ends. */
export function joinEnds(ends: TunnelEnds): void {
  const { client, upstream } = ends;
  endWith(client, upstream);
  endWith(upstream, client);
  if (client.destroyed || upstream.destroyed) {
    client.destroy();
    upstream.destroy();
    return;
  }
  watchIdle([client, upstream], ends.idleMs);
  if (ends.upstreamHead.length > 0) client.write(ends.upstreamHead);
  if (ends.clientHead.length > 0) upstream.write(ends.clientHead);
  client.pipe(upstream).pipe(client);
}

/** One end closes as the other does: at once after an error, else when what it was sent is out. */
function endWith(first: Duplex, second: Duplex): void {
  first.on("error", () => second.destroy());
  first.once("close", () => {
    if (second.writableFinished) second.destroy();
    else second.end(() => second.destroy());
  });
}

/**
 * Closes streams when nothing moved in any of them for `idleMs` to twice as long; 0 is no bound. It looks
 * now and then: a timer for each piece would cost more than the piece.
 */
export function watchIdle(streams: readonly Readable[], idleMs: number): void {
  if (idleMs === 0) return;
  let moved = 0;
  let stop: CancelTimer;
  const look = () => {
    if (moved === 0) {
      for (const stream of streams) stream.destroy();
      return;
    }
    moved = 0;
    stop = after(idleMs, look);
  };
  stop = after(idleMs, look);
  for (const stream of streams) {
    stream.on("data", (piece: Buffer) => {
      moved += piece.length;
    });
    stream.once("close", () => stop());
  }
}
