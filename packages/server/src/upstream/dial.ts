// A connection to an upstream that is nobody's but the caller's: for protocols that take it over whole.

import { connect, type Socket } from "node:net";
import { after } from "../clock.js";
import { ServerError } from "../errors.js";
import type { Target } from "./target.js";
import type { Upstream } from "./upstream.js";

/** A connection, and where it leads. */
export interface Dialed {
  readonly socket: Socket;
  readonly target: Target;
}

/**
 * Connects to a target of an upstream, to others if that fails, as often as requests are retried.
 *
 * @throws ServerError `SLUICE_UPSTREAM_UNAVAILABLE` or `SLUICE_UPSTREAM_TIMEOUT`.
 */
export async function dial(upstream: Upstream): Promise<Dialed> {
  const triesMax = 1 + Math.min(upstream.retriesMax, upstream.targets.length - 1);
  let tried: Target | undefined;
  let cause: unknown;
  for (let tries = 0; tries < triesMax; tries++) {
    const target = upstream.choose(tried);
    try {
      const socket = await connectTo(target, upstream.connectTimeoutMs);
      target.succeeded();
      return { socket, target };
    } catch (error) {
      upstream.failed(target);
      tried = target;
      cause = error;
    }
  }
  throw cause;
}

function connectTo({ host, port, authority }: Target, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    const cancel = after(timeoutMs, () => {
      socket.destroy();
      reject(new ServerError("SLUICE_UPSTREAM_TIMEOUT", `${authority} at connecting`));
    });
    const fail = (cause: Error) => {
      cancel();
      const seen = `${authority}: ${cause.message}`;
      reject(new ServerError("SLUICE_UPSTREAM_UNAVAILABLE", seen, { cause }));
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      cancel();
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
