// The listener as operators meet it: files that change, health, drain, many concurrent clients, and a store that goes.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { ForwardingStore, memoryStore, systemClock } from "sluice";
import { describe, expect, it, vi } from "vitest";
import {
  connect,
  descriptor,
  HeldStore,
  later,
  makeCore,
  makeFiles,
  openWith,
  SHOULD_RATE_LIMIT,
} from "../../test/envoy-harness.js";
import { openEnvoy } from "./envoy.js";
import { encodeRequest } from "./wire/request.js";
import { decodeResponse } from "./wire/response.js";

const fileOf = (most: number, domain = "web") => `
domain: ${domain}
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: ${most} }
`;
const ALICE = [descriptor({ user: "alice" })];

describe("files", () => {
  it("of a folder make a domain each; other files and hidden ones are ignored", async () => {
    const folder = makeFiles({
      "a.yaml": fileOf(1, "a"),
      "b.yml": fileOf(2, "b"),
      "notes.txt": "no: [yaml",
      ".hidden.yaml": "no: [yaml",
    });
    mkdirSync(join(folder, "more.d"));
    const { core } = makeCore({ files: [folder] });
    const listener = await openEnvoy(core);
    later(() => listener.close());
    const client = connect(listener.url);
    const limitOf = async (domain: string) => {
      const { statuses } = await client.ask({ domain, descriptors: ALICE });
      return statuses[0].currentLimit?.requestsPerUnit;
    };
    expect([await limitOf("a"), await limitOf("b")]).toEqual([1, 2]);
  });

  it.each([
    ["is not there", {}, /ENOENT/],
    ["has a mistake", { "a.yaml": "domain: a\nx: 1\n" }, /a\.yaml:2: unknown key "x"/],
    [
      "has the domain of another",
      { "a.yaml": fileOf(1), "b.yaml": fileOf(2) },
      /b\.yaml:2: duplicate domain "web", as in .*a\.yaml:2/,
    ],
  ])("nothing opens if one %s", async (_, files, problem) => {
    const folder = makeFiles(files as Record<string, string>);
    const paths = Object.keys(files).length === 0 ? [join(folder, "none.yaml")] : [folder];
    const { core } = makeCore({ files: paths });
    await expect(openEnvoy(core)).rejects.toMatchObject({
      code: "SLUICE_ENVOY_CONFIG_INVALID",
      message: expect.stringMatching(problem),
    });
  });

  it("that can't be used on a reload change nothing, and say why", async () => {
    const { listener, client, folder, heard } = await openWith(fileOf(5));
    const file = join(folder, "ratelimit.yaml");
    writeFileSync(file, "domain: web\nunknown: 1\n");
    await listener.reload();
    expect(String(heard.reloads[0])).toMatch(/ratelimit\.yaml:2: unknown key "unknown"/);
    const first = await client.ask({ descriptors: ALICE });
    expect(first.statuses[0]).toMatchObject({ currentLimit: { requestsPerUnit: 5 }, remaining: 4 });
    writeFileSync(file, fileOf(3));
    await listener.reload();
    expect(heard.reloads[1]).toBe("fine");
    const second = await client.ask({ descriptors: ALICE });
    expect(second.statuses[0]).toMatchObject({
      currentLimit: { requestsPerUnit: 3 },
      remaining: 1,
    });
  });

  it("that change, come and go are picked up without a request", async () => {
    const { client, folder, heard } = await openWith(fileOf(5));
    writeFileSync(join(folder, "ratelimit.yaml"), fileOf(6));
    await vi.waitUntil(() => heard.reloads.length === 1, { timeout: 20_000 });
    expect((await client.ask({ descriptors: ALICE })).statuses[0].remaining).toBe(5);
    writeFileSync(join(folder, "other.yaml"), fileOf(7, "other"));
    await vi.waitUntil(() => heard.reloads.length === 2, { timeout: 20_000 });
    const other = await client.ask({ domain: "other", descriptors: ALICE });
    expect(other.statuses[0].remaining).toBe(6);
    rmSync(join(folder, "other.yaml"));
    await vi.waitUntil(() => heard.reloads.length === 3, { timeout: 20_000 });
    const gone = await client.ask({ domain: "other", descriptors: ALICE });
    expect(gone.statuses[0].currentLimit).toBeUndefined();
    expect(heard.reloads).toEqual(["fine", "fine", "fine"]);
  });
});

describe("many concurrent clients", () => {
  it("are never admitted more often than the limit says, however they ask", async () => {
    const { listener } = await openWith(fileOf(500), { clock: systemClock });
    const clients = Array.from({ length: 8 }, () => connect(listener.url));
    const counts = await Promise.all(
      clients.map(async ({ ask }) => {
        const rounds = await Promise.all(
          Array.from({ length: 100 }, () => ask({ descriptors: ALICE })),
        );
        return rounds.filter(({ overallCode }) => overallCode === 1).length;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(500);
  });

  it("are answered with whole decisions while files are read again and again", async () => {
    const { listener, client, folder, heard } = await openWith(fileOf(1_000_000));
    const file = join(folder, "ratelimit.yaml");
    let isDone = false;
    const asking = (async () => {
      let answered = 0;
      for (; !isDone; answered++) {
        const { statuses } = await client.ask({ descriptors: ALICE });
        expect([1_000_000, 2_000_000]).toContain(statuses[0].currentLimit?.requestsPerUnit);
        expect(statuses[0].currentLimit?.requestsPerUnit).toBe(
          statuses[0].remaining + answered + 1,
        );
      }
      return answered;
    })();
    for (let i = 0; i < 100; i++) {
      writeFileSync(file, i % 10 === 9 ? "no: [yaml" : fileOf(i % 2 === 0 ? 2_000_000 : 1_000_000));
      await listener.reload();
    }
    isDone = true;
    expect(await asking).toBeGreaterThan(0);
    expect(heard.reloads.length).toBeGreaterThanOrEqual(100);
  });
});

describe("health", () => {
  const CHECK = "/grpc.health.v1.Health/Check";
  const toName = (name: string) => Buffer.from([0x0a, name.length, ...Buffer.from(name)]);

  it("is reported for the server, the service and the name that the reference has", async () => {
    const { client } = await openWith(fileOf(1));
    const serving = Buffer.from([0x08, 1]);
    expect(await client.send(CHECK, Buffer.alloc(0))).toEqual(serving);
    expect(await client.send(CHECK, toName("ratelimit"))).toEqual(serving);
    const service = "envoy.service.ratelimit.v3.RateLimitService";
    expect(await client.send(CHECK, toName(service))).toEqual(serving);
  });

  it("of a service that is not there is not found, and malformed bytes are an error", async () => {
    const { client } = await openWith(fileOf(1));
    const unknown = client.send(CHECK, toName("other"));
    await expect(unknown).rejects.toMatchObject({ code: status.NOT_FOUND });
    const malformed = client.send(CHECK, Buffer.from([0x0a, 0x09]));
    await expect(malformed).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it("can be watched, and says that a server drains before it is gone", async () => {
    const { listener, client } = await openWith(fileOf(1));
    const { states, next, ended } = watchHealth(client, Buffer.alloc(0));
    const unknown = watchHealth(client, toName("other"));
    await Promise.all([next(1), unknown.next(1)]);
    await listener.drain();
    await Promise.all([ended, unknown.ended]);
    expect([states, unknown.states[0]]).toEqual([[1, 2], 3]);
  });
});

/** Watches the health of a server. */
function watchHealth({ grpc }: ReturnType<typeof connect>, request: Buffer) {
  const asIs = (bytes: Buffer) => bytes;
  const call = grpc.makeServerStreamRequest("/grpc.health.v1.Health/Watch", asIs, asIs, request);
  const states: number[] = [];
  call.on("data", (bytes: Buffer) => void states.push(bytes[1]));
  const ended = new Promise<void>((resolve, reject) => {
    call.on("end", resolve).on("error", reject);
  });
  const next = (count: number) =>
    vi.waitUntil(() => states.length >= count, { timeout: 20_000, interval: 5 });
  return { states, next, ended };
}

describe("drain", () => {
  it("ends when the last call under way has been answered, and not before", async () => {
    const store = new HeldStore(memoryStore());
    const { listener, client } = await openWith(fileOf(100), { store });
    const calls = Array.from({ length: 20 }, () => client.ask({ descriptors: ALICE }));
    await vi.waitUntil(() => store.waiting.length === 20, { timeout: 20_000 });
    let isDrained = false;
    const drained = listener.drain().then(() => {
      isDrained = true;
    });
    for (const go of store.waiting.slice(0, 19)) go();
    await Promise.all(calls.slice(0, 19));
    expect(isDrained).toBe(false);
    store.waiting[19]();
    const answers = await Promise.all(calls);
    expect(answers.every(({ overallCode }) => overallCode === 1)).toBe(true);
    await drained;
  });

  it("fails no call of clients that go elsewhere once they are notified", async () => {
    const [one, other] = await Promise.all([
      openWith(fileOf(1_000_000)),
      openWith(fileOf(1_000_000)),
    ]);
    const { states, next } = watchHealth(one.client, Buffer.alloc(0));
    await next(1);
    const ask = async () => {
      let answered = 0;
      // At least some after the drain has begun, so that both servers are asked.
      for (let after = 0; after < 20; answered++) {
        const isDraining = states.includes(2);
        if (isDraining) after++;
        await (isDraining ? other : one).client.ask({ descriptors: ALICE });
      }
      return answered;
    };
    const asking = Promise.all(Array.from({ length: 8 }, ask));
    await vi.waitUntil(() => one.heard.tookMs.length > 100, { timeout: 20_000 });
    await one.listener.drain();
    expect((await asking).every((answered) => answered > 20)).toBe(true);
  });

  it("lets no client in afterwards", async () => {
    const { listener } = await openWith(fileOf(1));
    await listener.drain();
    const late = connect(listener.url).ask({ descriptors: ALICE });
    await expect(late).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });
});

describe("a store behind a network", () => {
  /** One that answers never, or with an error. */
  class GoneStore extends ForwardingStore {
    how: "silent" | "broken" | "there" = "there";
    calls = 0;
    override get isRemote() {
      return true;
    }
    override async decide(...args: Parameters<ForwardingStore["decide"]>) {
      this.calls++;
      if (this.how === "silent") await new Promise(() => {});
      if (this.how === "broken") throw new Error("ECONNREFUSED");
      return super.decide(...args);
    }
    override async decideOne(
      ...[counter, key, cost, nowMs]: Parameters<ForwardingStore["decideOne"]>
    ) {
      const { verdicts } = await this.decide([{ counter, key, cost, nowMs }]);
      return verdicts[0];
    }
  }
  const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 10 }
  - key: open
    rate_limit: { unit: hour, requests_per_unit: 10, sluice: { onStoreFailure: open } }
  - key: closed
    rate_limit: { unit: hour, requests_per_unit: 10, sluice: { onStoreFailure: closed } }
`;

  it.each(["silent", "broken"] as const)("that is %s is answered for by policy", async (how) => {
    const store = new GoneStore(memoryStore());
    const { client } = await openWith(FILE, { store, clock: systemClock });
    const codes = async (entries: Record<string, string>) => {
      const answers = Array.from({ length: 8 }, () =>
        client.ask({ descriptors: [descriptor(entries)] }),
      );
      return (await Promise.all(answers)).filter(({ overallCode }) => overallCode === 1).length;
    };
    expect(await codes({ user: "a" })).toBe(8);
    store.how = how;
    expect(await codes({ open: "a" })).toBe(8);
    expect(await codes({ closed: "a" })).toBe(0);
    // Half of the limit in each process, by default.
    expect(await codes({ user: "b" })).toBe(5);
  });

  it("is not asked again by a flood that it has refused", async () => {
    const store = new GoneStore(memoryStore());
    const { client } = await openWith(FILE, { store, clock: systemClock });
    const ask = () => client.ask({ descriptors: [descriptor({ user: "a" })] });
    for (let i = 0; i < 11; i++) await ask();
    const before = store.calls;
    for (let i = 0; i < 50; i++) expect((await ask()).overallCode).toBe(2);
    expect(store.calls - before).toBeLessThan(5);
  });
});

describe("a failure of ours", () => {
  class BrokenStore extends ForwardingStore {
    override decideOne(): never {
      throw new Error("a secret of the inside");
    }
  }

  it("is INTERNAL, reveals nothing internal, and the next request is answered", async () => {
    const { client } = await openWith(fileOf(1), { store: new BrokenStore(memoryStore()) });
    const bytes = encodeRequest({ domain: "web", descriptors: ALICE, hits: 0 });
    await expect(client.send(SHOULD_RATE_LIMIT, bytes)).rejects.toMatchObject({
      code: status.INTERNAL,
      details: "the request could not be decided",
    });
    const other = encodeRequest({ domain: "other", descriptors: ALICE, hits: 0 });
    expect(decodeResponse(await client.send(SHOULD_RATE_LIMIT, other)).overallCode).toBe(1);
  });
});

describe("an address that is taken", () => {
  it("is said, and leaves nothing open", async () => {
    const { listener } = await openWith(fileOf(1), { hasHttp: true });
    const { core } = makeCore({ files: [makeFiles({ "a.yaml": fileOf(1) })], hasHttp: true });
    const listen = { host: "127.0.0.1", port: Number(new URL(listener.httpUrl as string).port) };
    const envoy = { ...core.config.envoy, http: listen } as typeof core.config.envoy;
    const taken = openEnvoy({ ...core, config: { ...core.config, envoy } });
    await expect(taken).rejects.toMatchObject({ code: "SLUICE_LISTEN_FAILED" });
    const grpc = { host: "127.0.0.1", port: Number(new URL(listener.url).port) };
    const other = { ...core.config.envoy, listen: grpc } as typeof core.config.envoy;
    const alsoTaken = openEnvoy({ ...core, config: { ...core.config, envoy: other } });
    await expect(alsoTaken).rejects.toMatchObject({ code: "SLUICE_LISTEN_FAILED" });
  });
});
