// Envoy's way in: the rate limit service and the health service on one port.

import type { TlsWatchOptions } from "../../base/tls/tls-files.js";
import type { EnvoyConfig } from "../../config/config.js";
import type { Decider } from "../decider.js";
import { decodeRequest } from "../wire/request.js";
import { encodeResponse } from "../wire/response.js";
import { Health } from "./health.js";
import { fail, reply, STATUS } from "./replies.js";
import { type GrpcMethod, GrpcServer } from "./server.js";

/** A gRPC server that listens. */
export interface GrpcListener {
  readonly url: string;
  readonly health: Health;
  /** Reads the files of TLS again now. */
  reload(): void;
  stopListening(): void;
  /** Takes no more connections, and resolves when the last call has ended. Set `health` before. */
  drain(): Promise<void>;
  close(): void;
}

/** Opens the gRPC server. */
export async function openGrpc(
  { listen, tls }: Pick<EnvoyConfig, "listen" | "tls">,
  decider: Decider,
  onTlsReload?: TlsWatchOptions["onReload"],
): Promise<GrpcListener> {
  const health = new Health();
  const server = new GrpcServer(
    new Map([
      ["/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", toMethod(decider)],
      ["/grpc.health.v1.Health/Check", health.check],
      ["/grpc.health.v1.Health/Watch", health.watch],
    ]),
    { tls, onTlsReload },
  );
  const url = `${tls === undefined ? "grpc" : "grpcs"}://${await server.listen(listen)}`;
  return {
    url,
    health,
    reload: () => server.reload(),
    stopListening: () => server.stopListening(),
    drain: () => {
      // A client that watches would keep the server open forever.
      health.end();
      return server.drain();
    },
    close: () => server.close(),
  };
}

function toMethod(decider: Decider): GrpcMethod {
  return (stream, message) =>
    decider.decide(() => decodeRequest(message), {
      answered: (response) => reply(stream, encodeResponse(response)),
      failed: (details, isTheirs) =>
        fail(stream, isTheirs ? STATUS.invalidArgument : STATUS.internal, details),
    });
}
