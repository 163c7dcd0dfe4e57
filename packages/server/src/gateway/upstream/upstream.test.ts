import type { ResponseHead } from "sluice-http1";
import { afterEach, describe, expect, it } from "vitest";
import { closedUrl, eventually, onStop, startRaw, stopAll } from "../../../test/proxy-fixture.js";
import { toUpstream } from "../../../test/test-config.js";
import type { UpstreamConfig } from "../../config/config.js";
import type { UpstreamConnection } from "./connection.js";
import type { WaitingCaller } from "./connection-pool.js";
import { TICK_MS } from "./connection-pool.js";
import { Upstream } from "./upstream.js";
import type { UpstreamFailure } from "./upstream-caller.js";

afterEach(stopAll);

const THREE = ["http://a.example.com:1", "http://b.example.com:2", "http://c.example.com:3"];

function make(backends: readonly string[], changes: Partial<UpstreamConfig> = {}) {
  const time = { nowMs: 0 };
  const upstream = new Upstream(toUpstream(backends, changes), () => time.nowMs);
  onStop(() => upstream.close());
  const [first] = upstream.backends;
  const choose = () => upstream.choose().authority;
  return { upstream, time, first, choose };
}

/** A caller that records the calls it gets. */
class RecordingCaller implements WaitingCaller {
  connection: UpstreamConnection | undefined;
  status: number | undefined;
  body = "";
  isWhole = false;
  failure: UpstreamFailure | undefined;

  onConnection(connection: UpstreamConnection): void {
    this.connection = connection;
    connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", this, true, "resource");
  }
  onHead({ status }: ResponseHead): void {
    this.status = status;
  }
  onBody(bytes: Buffer, from: number, to: number): void {
    this.body += bytes.toString("latin1", from, to);
  }
  onEnd(bytes: Buffer, from: number, to: number): void {
    this.onBody(bytes, from, to);
    this.isWhole = true;
  }
  onDrain(): void {}
  onFailure(failure: UpstreamFailure): void {
    this.failure = failure;
  }
}

describe("a choice of backends", () => {
  it("goes round", () => {
    const { choose } = make(THREE);
    const chosen = Array.from({ length: 6 }, choose);
    const names = THREE.map((url) => new URL(url).host);
    expect(chosen).toEqual([...names, ...names]);
  });

  it("leaves out the one that was tried, and gives no backend its turn twice for that", () => {
    const { upstream } = make(THREE);
    const [a, b, c] = upstream.backends;
    expect(upstream.choose()).toBe(a);
    expect(upstream.choose(a)).toBe(b);
    expect(upstream.choose()).toBe(b);
    expect(upstream.choose()).toBe(c);
  });

  it("lets one request at a time try a backend that was ejected", () => {
    const { upstream, time, first } = make(THREE, { failuresMax: 1, ejectMs: 100 });
    upstream.failed(first);
    time.nowMs = 99;
    expect(Array.from({ length: 9 }, () => upstream.choose())).not.toContain(first);
    time.nowMs = 100;
    const chosen = Array.from({ length: 9 }, () => upstream.choose());
    expect(chosen.filter((backend) => backend === first)).toHaveLength(1);
    upstream.failed(first);
    expect(Array.from({ length: 9 }, () => upstream.choose())).not.toContain(first);
    time.nowMs = 200;
    expect(Array.from({ length: 3 }, () => upstream.choose())).toContain(first);
    // It showed nothing: another may try.
    first.ended();
    expect(Array.from({ length: 3 }, () => upstream.choose())).toContain(first);
    first.succeeded();
    const after = Array.from({ length: 9 }, () => upstream.choose());
    expect(after.filter((backend) => backend === first)).toHaveLength(3);
  });

  it("counts failures in a row only", () => {
    const { upstream, first } = make(THREE, { failuresMax: 2 });
    for (let i = 0; i < 5; i++) {
      upstream.failed(first);
      first.succeeded();
    }
    expect(Array.from({ length: 3 }, () => upstream.choose())).toContain(first);
  });

  it("reports once when a backend is ejected, and once when it is back", () => {
    const events: string[] = [];
    const listener = (outcome: string, backend: string) => events.push(`${outcome} ${backend}`);
    const config = toUpstream(THREE, { failuresMax: 2, ejectMs: 100 });
    const upstream = new Upstream(config, () => 0, listener);
    onStop(() => upstream.close());
    const [first] = upstream.backends;
    upstream.failed(first);
    first.succeeded();
    expect(events).toEqual([]);
    for (let i = 0; i < 4; i++) upstream.failed(first);
    expect(events).toEqual(["ejected a.example.com:1"]);
    first.succeeded();
    first.succeeded();
    expect(events).toEqual(["ejected a.example.com:1", "returned a.example.com:1"]);
  });

  it("reports nothing about an only backend, which is used in any state", () => {
    const events: string[] = [];
    const config = toUpstream(THREE.slice(0, 1), { failuresMax: 1 });
    const upstream = new Upstream(
      config,
      () => 0,
      (outcome) => events.push(outcome),
    );
    onStop(() => upstream.close());
    upstream.failed(upstream.backends[0]);
    upstream.backends[0].succeeded();
    expect(events).toEqual([]);
  });

  it("reads hosts, ports and addresses of version 6", () => {
    const { upstream } = make(["http://[::1]:8080", "http://a.example.com"]);
    const [six, plain] = upstream.backends;
    expect([six.host, six.port, six.authority]).toEqual(["::1", 8080, "[::1]:8080"]);
    expect([plain.host, plain.port, plain.authority]).toEqual([
      "a.example.com",
      80,
      "a.example.com",
    ]);
  });
});

describe("a pool", () => {
  it("uses a connection again, and one that the upstream closed not", async () => {
    let connections = 0;
    let close = () => {};
    const url = await startRaw((socket) => {
      connections++;
      close = () => socket.destroy();
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    });
    const { pool } = make([url]).first;
    const ask = async () => {
      const caller = new RecordingCaller();
      const free = pool.take();
      if (free === undefined) pool.wait(caller);
      else caller.onConnection(free);
      await eventually(() => caller.isWhole);
      expect([caller.status, caller.body]).toEqual([200, "hi"]);
    };
    await ask();
    await ask();
    expect(connections).toBe(1);
    close();
    await eventually(() => pool.size === 0);
    await ask();
    expect(connections).toBe(2);
  });

  it("closes connections that were not used for a while, sooner if the upstream says so", async () => {
    for (const [field, ticks] of [
      ["", 40],
      ["Keep-Alive: timeout=2\r\n", 10],
    ] as const) {
      const url = await startRaw((socket) =>
        socket.on("data", () =>
          socket.write(`HTTP/1.1 200 OK\r\n${field}Content-Length: 0\r\n\r\n`),
        ),
      );
      const { pool } = make([url]).first;
      const caller = new RecordingCaller();
      pool.wait(caller);
      await eventually(() => caller.isWhole);
      for (let i = 1; i < ticks; i++) pool.onTick();
      await new Promise((resolve) => setImmediate(resolve));
      expect(pool.size).toBe(1);
      pool.onTick();
      await eventually(() => pool.size === 0);
    }
  });

  it("gives up a connection that takes too long to come, and says so", async () => {
    // The time is over before the connection can have come: nothing is read in between.
    const url = await startRaw(() => {});
    const { pool } = make([url], { connectTimeoutMs: 10 * TICK_MS }).first;
    const caller = new RecordingCaller();
    pool.wait(caller);
    for (let i = 0; i < 11; i++) pool.onTick();
    await eventually(() => caller.failure !== undefined);
    expect(caller.failure).toMatchObject({ kind: "connect-timeout", hasResponse: false });
  });

  it("fails each waiting request when the backend is not there", async () => {
    const { pool } = make([await closedUrl()], { connectionsMax: 2 }).first;
    const all = Array.from({ length: 5 }, () => new RecordingCaller());
    for (const caller of all) pool.wait(caller);
    await eventually(() => all.every(({ failure }) => failure?.kind === "connect"));
    expect([pool.size, pool.load]).toEqual([0, 0]);
  });
});
