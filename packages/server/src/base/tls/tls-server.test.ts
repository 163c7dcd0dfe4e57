// TLS over real sockets, with certificates that openssl makes.

import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect as connectPlain } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect, type PeerCertificate } from "node:tls";
import { makeCertificate, makeFolder } from "sluice-test-servers";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../test/proxy-fixture.js";
import { ServerError } from "../errors.js";
import { createTlsServer, type TlsOptions, type TlsServer } from "./tls-server.js";

let folder: string;
let first: { certFile: string; keyFile: string };
let second: { certFile: string; keyFile: string };
let live: { certFile: string; keyFile: string };
let open: TlsServer | undefined;

beforeAll(() => {
  folder = makeFolder("tls");
  first = makeCertificate(folder, "first");
  second = makeCertificate(folder, "second");
  live = { certFile: join(folder, "live.crt"), keyFile: join(folder, "live.key") };
});

afterEach(() => {
  open?.server.close();
});

function install({ certFile, keyFile }: { certFile: string; keyFile: string }): void {
  copyFileSync(keyFile, live.keyFile);
  copyFileSync(certFile, live.certFile);
}

async function start(options?: TlsOptions): Promise<number> {
  open = createTlsServer(live, options);
  const { server } = open;
  server.on("secureConnection", (socket) => socket.on("error", () => {}).end("over TLS"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** Shakes hands; answers with the protocol and the name on the certificate. */
function shake(port: number, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { subject } = socket.getPeerCertificate() as PeerCertificate;
      resolve(`${socket.getProtocol()} ${subject.CN}`);
      socket.destroy();
    });
  });
}

describe("the front over TLS", () => {
  it("speaks TLS 1.2 and 1.3 and nothing older", async () => {
    install(first);
    const port = await start();
    expect(await shake(port)).toBe("TLSv1.3 first.example.com");
    expect(await shake(port, { maxVersion: "TLSv1.2" })).toBe("TLSv1.2 first.example.com");
    const old = {
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    } as const;
    await expect(shake(port, old)).rejects.toThrow(/protocol version|unsupported protocol/);
  });

  it("takes a new certificate when the files change, for new connections", async () => {
    install(first);
    let reloads = 0;
    const port = await start({ lookEveryMs: 20, onReload: () => reloads++ });
    expect(await shake(port)).toBe("TLSv1.3 first.example.com");
    install(second);
    await eventually(async () => (await shake(port)) === "TLSv1.3 second.example.com");
    expect(reloads).toBeGreaterThan(0);
  });

  it("misses no files that change right after it has read them", async () => {
    install(first);
    const starting = start({ lookEveryMs: 20 });
    install(second);
    const port = await starting;
    await eventually(async () => (await shake(port)) === "TLSv1.3 second.example.com");
  });

  it("keeps the certificate that it has if the new files can't be used, and says so", async () => {
    install(first);
    const errors: unknown[] = [];
    const port = await start({ onReload: (error) => errors.push(error) });
    writeFileSync(live.certFile, "no certificate");
    open?.reload();
    copyFileSync(second.certFile, live.certFile);
    open?.reload();
    rmSync(live.keyFile);
    open?.reload();
    expect(errors.map((error) => (error as ServerError).code)).toEqual([
      "SLUICE_CONFIG_INVALID",
      "SLUICE_CONFIG_INVALID",
      "SLUICE_CONFIG_UNREADABLE",
    ]);
    expect(await shake(port)).toBe("TLSv1.3 first.example.com");
  });

  it("says what is wrong with its files when it starts", () => {
    const gone = { certFile: join(folder, "gone.crt"), keyFile: first.keyFile };
    expect(() => createTlsServer(gone)).toThrow(/gone\.crt/);
    const swapped = { certFile: first.certFile, keyFile: second.keyFile };
    expect(() => createTlsServer(swapped)).toThrow(ServerError);
  });

  it("goes on when a client does not speak TLS", async () => {
    install(first);
    const port = await start();
    const socket = connectPlain(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve).resume());
    expect(await shake(port)).toContain("first");
  });
});
