// The life of a service: all listeners or none, a drain that readiness precedes, and a close that leaves nothing.

import { unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ManualClock } from "sluice/testing";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { toTestConfig } from "../../test/test-config.js";
import type { Config } from "../config/config.js";
import type { Listener } from "../core/core.js";
import { readRules } from "../core/rules-in-force.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { ListenerOpener } from "./listeners.js";
import { type Service, type ServiceOptions, startService } from "./service.js";

const FACTS = { method: "GET", path: "/" };
const services: Service[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const service of services.splice(0)) await service.close();
});

async function started(config: Config, options: ServiceOptions): Promise<Service> {
  const service = await startService(config, options);
  services.push(service);
  return service;
}

class FakeListener implements Listener {
  readonly name: string;
  readonly url = "http://127.0.0.1:0";
  readonly events: string[];
  finish: () => void = () => {};
  readonly #drained = new Promise<void>((resolve) => {
    this.finish = resolve;
  });

  constructor(name: string, events: string[]) {
    this.name = name;
    this.events = events;
  }

  announceDrain?: () => Promise<void>;

  stopListening(): void {
    this.events.push(`stop ${this.name}`);
  }

  drain(): Promise<void> {
    this.events.push(`drain ${this.name}`);
    return this.#drained;
  }

  async close(): Promise<void> {
    this.events.push(`close ${this.name}`);
  }
}

function fakeListeners(...names: string[]) {
  const events: string[] = [];
  const listeners = names.map((name) => new FakeListener(name, events));
  const openers = listeners.map(
    (listener): ListenerOpener =>
      async () =>
        listener,
  );
  return { events, listeners, openers };
}

/** Telemetry that remembers reloads and warnings. */
function rememberingTelemetry() {
  const reloads: [string, string | undefined][] = [];
  const warnings: unknown[] = [];
  const telemetry: Telemetry = Object.assign(silentTelemetry(), {
    reloaded: (what: string, error?: unknown) =>
      reloads.push([what, error === undefined ? undefined : String(error)]),
  });
  telemetry.log.warn = (fields: unknown) => warnings.push(fields);
  return { telemetry, reloads, warnings };
}

function ruleFile(limit: string) {
  const file = join(makeFolder("server"), "rules.yaml");
  const write = (text: string) => writeFileSync(file, text);
  const rules = (each: string) =>
    `version: 1\nrules:\n  - id: everybody\n    key: global\n    limit: ${each}\n`;
  write(rules(limit));
  return { file, write, rules };
}

describe("start", () => {
  it("closes what is open if one listener can't be opened, and says why", async () => {
    const { events, openers } = fakeListeners("gateway");
    const failing: ListenerOpener = async () => {
      throw new Error("address in use");
    };
    const starting = startService(toTestConfig(), { openers: [...openers, failing] });
    await expect(starting).rejects.toThrow("address in use");
    expect(events).toEqual(["close gateway"]);
  });

  it("names the rule that a listener without responses can't keep", async () => {
    const permits = { id: "slots", limit: { concurrency: { limit: 2, permitMs: 1_000 } } };
    const listen = { host: "127.0.0.1", port: 0 };
    const decision = { listen, tokens: [], forwardAuth: true, bodyBytesMax: 1_024 };
    const rules = { inline: { version: 1, rules: [permits] } };
    await expect(startService(toTestConfig({ decision, rules }), { openers: [] })).rejects.toThrow(
      "slots",
    );
    await started(toTestConfig({ rules }), { openers: [] });
  });
});

describe("drain", () => {
  it("fails readiness first, waits for the last request, and closes the admin port last", async () => {
    const { events, listeners, openers } = fakeListeners("gateway", "decision", "admin");
    const service = await started(toTestConfig(), { openers });
    expect(service.isReady()).toBe(true);
    const draining = service.drain();
    expect(service.isReady()).toBe(false);
    await vi.waitFor(() => expect(events).toEqual(["drain gateway", "drain decision"]), 20_000);
    for (const listener of listeners) listener.finish();
    await draining;
    const closed = ["close gateway", "close decision", "close admin"];
    expect(events.slice(2)).toEqual(["drain admin", ...closed]);
  });

  it("begins drainDelayMs after readiness has failed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { events, listeners, openers } = fakeListeners("gateway");
    listeners[0].announceDrain = async () => void events.push("announce gateway");
    const service = await started(toTestConfig({ drainDelayMs: 5_000 }), { openers });
    const draining = service.drain();
    await vi.advanceTimersByTimeAsync(4_999);
    expect([service.isReady(), events]).toEqual([false, ["announce gateway"]]);
    await vi.advanceTimersByTimeAsync(1);
    expect(events).toEqual(["announce gateway", "drain gateway"]);
    listeners[0].finish();
    await draining;
  });

  it("is left out if the service is closed during its delay", async () => {
    const { events, openers } = fakeListeners("gateway");
    const service = await started(toTestConfig({ drainDelayMs: 3_600_000 }), { openers });
    const draining = service.drain();
    await service.close();
    await draining;
    expect(events).toEqual(["close gateway"]);
  });

  it("waits for the others where a listener fails to drain", async () => {
    const { events, listeners, openers } = fakeListeners("gateway", "decision");
    const service = await started(toTestConfig(), { openers });
    listeners[1].drain = () => Promise.reject(new Error("broken"));
    const draining = service.drain();
    await vi.waitFor(() => expect(events).toEqual(["drain gateway"]), 20_000);
    listeners[0].finish();
    await draining;
    expect(events.slice(1)).toEqual(["close gateway", "close decision"]);
  });

  it("closes what has not drained within drainMs", async () => {
    const { events, openers } = fakeListeners("gateway");
    const service = await started(toTestConfig({ drainMs: 20 }), { openers });
    await service.drain();
    expect(events).toEqual(["drain gateway", "close gateway"]);
  });

  it("is cut short by close", async () => {
    const { events, openers } = fakeListeners("gateway");
    const service = await started(toTestConfig(), { openers });
    void service.drain();
    await vi.waitFor(() => expect(events).toEqual(["drain gateway"]), 20_000);
    await service.close();
    expect(events).toEqual(["drain gateway", "close gateway"]);
    expect(() => service.core.policy.admit(FACTS)).toThrow("closed");
  });
});

describe("reload", () => {
  it("puts other rules in force in both policies, and keeps what was used", async () => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry, reloads } = rememberingTelemetry();
    const listen = { host: "127.0.0.1", port: 0 };
    const decision = { listen, tokens: [], forwardAuth: true, bodyBytesMax: 1_024 };
    const config = toTestConfig({ rules: { file }, decision });
    const { core, ...service } = await started(config, { telemetry, openers: [] }).then((s) => ({
      core: s.core,
      reload: () => s.reload(),
    }));
    await core.policy.admit(FACTS);
    write(rules("5/minute"));
    await service.reload();
    expect(core.blindPolicy?.version).toBe(core.policy.version);
    expect(await core.blindPolicy?.peek(FACTS)).toMatchObject({ limit: 5, remaining: 4 });
    expect(reloads).toEqual([["rules", undefined]]);
  });

  it("changes nothing for a bad file, and reports it with its line", async () => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry, reloads } = rememberingTelemetry();
    const service = await started(toTestConfig({ rules: { file } }), { telemetry, openers: [] });
    const { version } = service.core.policy;
    write(rules("ten a minute"));
    await expect(service.reload()).rejects.toThrow("rules.yaml:5");
    expect(service.core.policy.version).toBe(version);
    expect(reloads).toEqual([["rules", expect.stringContaining("rules.yaml:5")]]);
  });

  it("changes neither policy for rules that one of them can't use", async () => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry } = rememberingTelemetry();
    const listen = { host: "127.0.0.1", port: 0 };
    const decision = { listen, tokens: [], forwardAuth: true, bodyBytesMax: 1_024 };
    const { core, reload } = await started(toTestConfig({ rules: { file }, decision }), {
      telemetry,
      openers: [],
    }).then((s) => ({ core: s.core, reload: () => s.reload() }));
    const { version } = core.policy;
    write(rules("{ concurrency: { limit: 2, permitMs: 1000 } }"));
    await expect(reload()).rejects.toThrow("everybody");
    expect([core.policy.version, core.blindPolicy?.version]).toEqual([version, version]);
  });

  it("sees a file that changes by itself, and complains of a bad one once", async () => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry, reloads } = rememberingTelemetry();
    const clock = new ManualClock(1_700_000_000_000);
    const config = toTestConfig({ rules: { file } });
    const service = await started(config, { telemetry, clock, openers: [] });
    write(rules("7/minute"));
    clock.advance(2_000);
    expect(await service.core.policy.peek(FACTS)).toMatchObject({ limit: 7 });
    write("version: 1\nrules: nonsense\n");
    clock.advance(10_000);
    expect(reloads.map(([what, error]) => [what, error !== undefined])).toEqual([
      ["rules", false],
      ["rules", true],
    ]);
  });

  it.each([
    ["bad", (write: (text: string) => void) => write("version: 1\nrules: nonsense\n")],
    ["missing", (_: unknown, file: string) => unlinkSync(file)],
  ])("reports that a file which was %s says again what is in force", async (_, spoil) => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry, reloads } = rememberingTelemetry();
    const clock = new ManualClock(1_700_000_000_000);
    await started(toTestConfig({ rules: { file } }), { telemetry, clock, openers: [] });
    spoil(write, file);
    clock.advance(10_000);
    write(rules("10/minute"));
    clock.advance(10_000);
    expect(reloads).toEqual([
      ["rules", expect.any(String)],
      ["rules", undefined],
    ]);
  });

  it("reports it also where only a reload saw the bad file", async () => {
    const { file, write, rules } = ruleFile("10/minute");
    const { telemetry, reloads } = rememberingTelemetry();
    const clock = new ManualClock(1_700_000_000_000);
    const config = toTestConfig({ rules: { file } });
    const service = await started(config, { telemetry, clock, openers: [] });
    write("version: 1\nrules: nonsense\n");
    await expect(service.reload()).rejects.toThrow("rules.yaml:2");
    write(rules("10/minute"));
    clock.advance(10_000);
    expect(reloads.at(-1)).toEqual(["rules", undefined]);
  });

  it.each(["10/minute", "7/minute"])(
    "reports both as good when a configuration failed by its rules and they say %s",
    async (limit) => {
      const { file, write, rules } = ruleFile("10/minute");
      const { telemetry, reloads } = rememberingTelemetry();
      const clock = new ManualClock(1_700_000_000_000);
      const toConfig = () => toTestConfig({ rules: { file } });
      const loadConfig = () => {
        readRules({ file });
        return toConfig();
      };
      const service = await started(toConfig(), { telemetry, clock, loadConfig, openers: [] });
      write("version: 1\nrules: nonsense\n");
      await expect(service.reload()).rejects.toThrow("rules.yaml:2");
      expect(reloads.map(([what, error]) => [what, error !== undefined])).toEqual([
        ["config", true],
        ["rules", true],
      ]);
      write(rules(limit));
      clock.advance(10_000);
      await vi.waitFor(() => expect(reloads.at(-1)).toEqual(["config", undefined]), 20_000);
      expect(reloads.filter(([, error]) => error !== undefined)).toHaveLength(2);
      expect(reloads).toContainEqual(["rules", undefined]);
    },
  );

  it("applies a log level immediately, and says which other values need a restart", async () => {
    const { telemetry, warnings } = rememberingTelemetry();
    const config = toTestConfig();
    const next: Config = {
      ...config,
      drainMs: 5,
      admin: { ...config.admin, listen: { host: "127.0.0.1", port: 9 } },
      telemetry: { ...config.telemetry, logLevel: "fatal" },
    };
    const service = await started(config, { telemetry, loadConfig: () => next, openers: [] });
    await service.reload();
    expect(telemetry.log.level).toBe("fatal");
    expect(warnings).toEqual([{ waiting: ["server.drainMs", "admin.listen"] }]);
  });

  it("keeps everything if the configuration can't be read", async () => {
    const { telemetry, reloads } = rememberingTelemetry();
    const loadConfig = () => {
      throw new Error("sluice.yaml:3: nonsense");
    };
    const service = await started(toTestConfig(), { telemetry, loadConfig, openers: [] });
    await expect(service.reload()).rejects.toThrow("sluice.yaml:3");
    expect(reloads).toEqual([["config", "Error: sluice.yaml:3: nonsense"]]);
  });
});
