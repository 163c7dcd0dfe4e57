// The gRPC server: the rate limit service and the health service on one port. Messages pass through it as
// bytes; what is malformed is the caller's fault and answered so, which the library's own decoding would not do.

import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from "@grpc/grpc-js";
import type { ListenConfig } from "../config/config.js";
import { ServerError } from "../errors.js";
import type { Decider } from "./decider.js";
import { Health } from "./health.js";
import { decodeRequest } from "./wire/request.js";
import { encodeResponse } from "./wire/response.js";

/** The most bytes of a request. Envoy's have some hundred. */
export const MESSAGE_BYTES_MAX = 65_536;
/** Calls at once on one connection. */
const STREAMS_MAX = 10_000;

/** A gRPC server that listens. */
export interface GrpcDoor {
  readonly url: string;
  readonly health: Health;
  /** Takes no more connections, and resolves when the last call has ended. Tell `health` before. */
  drain(): Promise<void>;
  close(): void;
}

/** Opens the gRPC server. */
export async function openGrpc(listen: ListenConfig, decider: Decider): Promise<GrpcDoor> {
  const server = new Server({
    "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
    "grpc.max_concurrent_streams": STREAMS_MAX,
    "grpc.enable_channelz": 0,
  });
  const health = new Health();
  server.addService(RATE_LIMIT_SERVICE, { ShouldRateLimit: toHandler(decider) });
  server.addService(HEALTH_SERVICE, { Check: health.check, Watch: health.watch });
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  const port = await bind(server, `${host}:${listen.port}`);
  return {
    url: `grpc://${host}:${port}`,
    health,
    drain: () => {
      // Whoever watches would keep the server open for good.
      health.end();
      return shutDown(server);
    },
    close: () => server.forceShutdown(),
  };
}

function toHandler(decider: Decider): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) =>
    decider.decide(() => decodeRequest(call.request), {
      answered: (response) => callback(null, encodeResponse(response)),
      failed: (details, isTheirs) =>
        callback({ code: isTheirs ? status.INVALID_ARGUMENT : status.INTERNAL, details }),
    });
}

function bind(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else
        reject(
          new ServerError("SLUICE_LISTEN_FAILED", `${address}: ${error.message}`, { cause: error }),
        );
    });
  });
}

function shutDown(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.tryShutdown((error) => (error === undefined ? resolve() : reject(error)));
  });
}

const asIs = (bytes: Buffer): Buffer => bytes;

function toMethod(path: string, responseStream: boolean): ServiceDefinition[string] {
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}

const RATE_LIMIT_SERVICE = {
  ShouldRateLimit: toMethod("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", false),
};
const HEALTH_SERVICE = {
  Check: toMethod("/grpc.health.v1.Health/Check", false),
  Watch: toMethod("/grpc.health.v1.Health/Watch", true),
};
