// What the tests of the Envoy listener share: a core around a memory store, a folder of files, and a client that
// speaks the protocol with the codec of the service. (An independent client has a test of its own.)

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { type Clock, ForwardingStore, memoryStore, type Store } from "sluice";
import { createPolicy, type Policy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { afterEach, expect } from "vitest";
import type { Config, EnvoyConfig } from "../src/config/config.js";
import type { Core } from "../src/core/core.js";
import { type EnvoyListener, openEnvoy } from "../src/envoy/envoy.js";
import { parseFile } from "../src/envoy/file/parse.js";
import { EnvoyLimiter, type LimiterParts } from "../src/envoy/limiter/limiter.js";
import { EnvoyRules } from "../src/envoy/match/descriptor-tree.js";
import type { Descriptor, RateLimitRequest, RateLimitResponse } from "../src/envoy/messages.js";
import { encodeRequest } from "../src/envoy/wire/request.js";
import { decodeResponse } from "../src/envoy/wire/response.js";
import { silentTelemetry } from "../src/telemetry/silent-telemetry.js";
import type { Telemetry } from "../src/telemetry/telemetry.js";
import { toTestConfig } from "./test-config.js";

export const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
/** A Monday at noon, UTC: twelve hours into its day, four and a half days into its week of the epoch. */
export const START_MS: number = Date.UTC(2026, 10, 16, 12);

/** What was reported to telemetry. */
export interface Heard {
  readonly reloads: unknown[];
  readonly refusals: number[];
  readonly tookMs: number[];
}

/** What a core is made with; the rest is made up. */
export interface CoreParts {
  readonly files: readonly string[];
  readonly store?: Store;
  readonly clock?: Clock;
  /** Whose lists and blocks are in force; default: none are. */
  readonly policy?: Policy;
  readonly hasHttp?: boolean;
  /** Where HTTP listens; default 127.0.0.1. */
  readonly httpHost?: string;
  /** Other values of the configuration's section for Envoy. */
  readonly envoy?: Partial<EnvoyConfig>;
  /** Other values of the configuration. */
  readonly config?: Partial<Config>;
}

/** What a configuration says that names only files. */
const ENVOY_DEFAULTS = {
  mergeDomains: false,
  shadowMode: false,
  quotaMode: false,
  responseHeaders: undefined,
  requestHeaders: undefined,
  dynamicMetadata: false,
};

/** A core that nothing but this listener is opened with. */
export function makeCore(parts: CoreParts): { core: Core; heard: Heard } {
  const { files, store = memoryStore(), clock, hasHttp, httpHost = "127.0.0.1" } = parts;
  const heard: Heard = { reloads: [], refusals: [], tookMs: [] };
  const telemetry = Object.assign(silentTelemetry(), {
    reloaded: (_what, error) => void heard.reloads.push(error ?? "fine"),
    refused: (_door, status) => void heard.refusals.push(status),
    tookMs: (_door, ms) => void heard.tookMs.push(ms),
  } satisfies Partial<Telemetry>);
  const listen = { host: "127.0.0.1", port: 0 };
  const http = hasHttp ? { host: httpHost, port: 0 } : undefined;
  const envoy: EnvoyConfig = { ...ENVOY_DEFAULTS, listen, http, files, ...parts.envoy };
  const rules = { version: 1, rules: [] };
  const core: Core = {
    config: toTestConfig({ envoy, ...parts.config }),
    clock: clock ?? new ManualClock(START_MS),
    store,
    policy: parts.policy ?? createPolicy({ rules }),
    blindPolicy: undefined,
    telemetry,
  };
  return { core, heard };
}

/** A store whose decisions wait until they are let go. */
export class HeldStore extends ForwardingStore {
  readonly waiting: (() => void)[] = [];
  override async decideOne(...args: Parameters<ForwardingStore["decideOne"]>) {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return super.decideOne(...args);
  }
}

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

/** Ends something after the test. */
export function later(end: () => unknown): void {
  endings.push(end);
}

/** A folder with these files, which goes after the test. */
export function makeFiles(files: Readonly<Record<string, string>>): string {
  const folder = makeFolder("envoy");
  later(() => removeFolder(folder));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** The rules of a file with this text, which has to be right. */
export function rulesOf(text: string, before?: EnvoyRules): EnvoyRules {
  const { domain, problems } = parseFile("ratelimit.yaml", text);
  expect(problems).toEqual([]);
  return new EnvoyRules(domain === undefined ? [] : [domain], { before });
}

/** A limiter without a listener, over a memory store unless `others` has one. */
export function limiterOf(
  text: string,
  clock: Clock = new ManualClock(START_MS),
  others: Partial<LimiterParts> = {},
): EnvoyLimiter {
  return new EnvoyLimiter({ store: memoryStore(), clock, rules: rulesOf(text), ...others });
}

/** Opens the listener with a file of this text, until the test has ended. */
export async function openWith(
  text: string,
  parts: Omit<CoreParts, "files"> = {},
): Promise<{
  listener: EnvoyListener;
  client: EnvoyClient;
  folder: string;
  core: Core;
  heard: Heard;
}> {
  const folder = makeFiles({ "ratelimit.yaml": text });
  const { core, heard } = makeCore({ ...parts, files: [folder] });
  const listener = await openEnvoy(core, { pollMs: 50 });
  later(() => listener.close());
  return { listener, client: connect(listener.url), folder, core, heard };
}

/** A client of the service. */
export interface EnvoyClient {
  readonly grpc: Client;
  /** Sends a request; rejects with a ServiceError. */
  ask(request: Partial<RateLimitRequest>): Promise<RateLimitResponse>;
  /** Sends bytes to any method. */
  send(path: string, bytes: Buffer): Promise<Buffer>;
}

/** Connects to a server, until the test has ended. */
export function connect(url: string): EnvoyClient {
  const grpc = new Client(new URL(url).host, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
  });
  later(() => grpc.close());
  const asIs = (bytes: Buffer) => bytes;
  const send = (path: string, bytes: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      grpc.makeUnaryRequest(path, asIs, asIs, bytes, (error: ServiceError | null, answer) => {
        if (error !== null) reject(error);
        else resolve(answer as Buffer);
      });
    });
  const ask = async (request: Partial<RateLimitRequest>) => {
    const whole = { domain: "web", descriptors: [], hits: 0, ...request };
    return decodeResponse(await send(SHOULD_RATE_LIMIT, encodeRequest(whole)));
  };
  return { grpc, ask, send };
}

/** A descriptor: `{ user: "a", path: "/x" }` are its entries, in order. */
export function descriptor(
  entries: Readonly<Record<string, string>>,
  others: Partial<Omit<Descriptor, "entries">> = {},
): Descriptor {
  const pairs = Object.entries(entries).map(([key, value]) => ({ key, value }));
  return { entries: pairs, limit: undefined, hits: undefined, isNegative: false, ...others };
}
