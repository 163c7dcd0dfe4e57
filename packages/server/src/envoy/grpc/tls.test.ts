// gRPC over TLS, asked by the usual client library, with certificates that openssl makes.

import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ChannelCredentials, Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { makeCertificate, makeFolder } from "sluice-test-servers";
import { beforeAll, describe, expect, it } from "vitest";
import { later } from "../../../test/envoy-harness.js";
import { eventually } from "../../../test/proxy-fixture.js";
import type { EnvoyTlsConfig } from "../../config/config.js";
import { reply } from "./replies.js";
import { GrpcServer } from "./server.js";

type Files = { certFile: string; keyFile: string };

let folder: string;
let server: Files;
let client: Files;
let stranger: Files;

beforeAll(() => {
  folder = makeFolder("grpc-tls");
  server = makeCertificate(folder, "server");
  client = makeCertificate(folder, "client");
  stranger = makeCertificate(folder, "stranger");
});

async function open(tls: Partial<EnvoyTlsConfig> = {}) {
  const grpc = new GrpcServer(new Map([["/echo", reply]]), {
    tls: { ...server, clientCaFile: undefined, ...tls },
  });
  later(() => grpc.close());
  const at = await grpc.listen({ host: "127.0.0.1", port: 0 });
  // By name: an address is not a server name.
  return { grpc, at: at.replace("127.0.0.1", "localhost") };
}

/** Credentials of a client that trusts the server's certificate, and shows one of its own. */
function toCredentials(trusted: Files, own?: Files): ChannelCredentials {
  const key = own === undefined ? null : readFileSync(own.keyFile);
  const cert = own === undefined ? null : readFileSync(own.certFile);
  return credentials.createSsl(readFileSync(trusted.certFile), key, cert);
}

/** Calls once; the answer, or the code of the error. */
function call(at: string, channel: ChannelCredentials): Promise<string | number> {
  const asking = new Client(at, channel);
  const same = (bytes: Buffer) => bytes;
  return new Promise<string | number>((resolve) => {
    asking.makeUnaryRequest(
      "/echo",
      same,
      same,
      Buffer.from("hello"),
      { deadline: Date.now() + 10_000 },
      (error: ServiceError | null, answer?: Buffer) => resolve(error?.code ?? String(answer)),
    );
  }).finally(() => asking.close());
}

const UNAVAILABLE = 14;

describe("gRPC over TLS", () => {
  it("answers clients that trust its certificate, and no others", async () => {
    const { at } = await open();
    expect(await call(at, toCredentials(server))).toBe("hello");
    expect(await call(at, toCredentials(stranger))).toBe(UNAVAILABLE);
    expect(await call(at, credentials.createInsecure())).toBe(UNAVAILABLE);
  });

  it("with a client authority answers only clients with a certificate of it", async () => {
    const { at } = await open({ clientCaFile: client.certFile });
    expect(await call(at, toCredentials(server, client))).toBe("hello");
    expect(await call(at, toCredentials(server, stranger))).toBe(UNAVAILABLE);
    expect(await call(at, toCredentials(server))).toBe(UNAVAILABLE);
  });

  it("uses other files for new connections once they are read again", async () => {
    const live = { certFile: join(folder, "live.crt"), keyFile: join(folder, "live.key") };
    const install = (files: Files) => {
      copyFileSync(files.certFile, live.certFile);
      copyFileSync(files.keyFile, live.keyFile);
    };
    install(stranger);
    const { grpc, at } = await open(live);
    expect(await call(at, toCredentials(server))).toBe(UNAVAILABLE);
    install(server);
    grpc.reload();
    expect(await call(at, toCredentials(server))).toBe("hello");
  });

  it("drains: calls under way end, connections close, and no new ones are taken", async () => {
    const { grpc, at } = await open();
    expect(await call(at, toCredentials(server))).toBe("hello");
    await grpc.drain();
    await eventually(async () => (await call(at, toCredentials(server))) === UNAVAILABLE);
  });
});
