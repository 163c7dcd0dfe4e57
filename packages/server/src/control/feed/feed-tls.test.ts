// Followers over TLS: with `caFile` they follow a control node of a private authority, and no other.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate, makeExpiredCertificate, makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { toControlConfig } from "../../../test/control/control-config.js";
import { testDatabases } from "../../../test/control/databases.js";
import { FEED_TOKEN, listenToFollowers } from "../../../test/control/feed-listener.js";
import type { ControlConfig, FollowControlConfig } from "../../config/config.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import { type ControlNode, openControlNode } from "../control-node.js";

const [sqlite] = testDatabases();
const folder = makeFolder("certificates");
const control = makeCertificate(folder, "control");
const another = makeCertificate(folder, "another");
const elsewhere = makeCertificate(folder, "elsewhere", "DNS:control.example.com");
const expired = makeExpiredCertificate(folder, "expired");

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
let node: ControlNode;
beforeAll(async () => {
  node = (await open(toControlConfig(await sqlite.create(), { hasRules: false }))).node;
  closing.splice(0);
  await savePlan("one");
});
afterAll(async () => {
  await node.close();
  await sqlite.stop();
});

let ids = 0;
function savePlan(tier: string) {
  const by = { id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" };
  return node.plane?.plans.put(by, { id: "a", input: { tier } });
}

async function open(config: ControlConfig) {
  const telemetry = silentTelemetry();
  const problems = vi.spyOn(telemetry, "problem");
  const options = { telemetry, rules: undefined, onFirstToken: undefined };
  const opened = await openControlNode(config, options);
  closing.push(() => opened.close());
  return { node: opened, problems };
}

async function listen(tls: { certFile: string; keyFile: string }, port = 0) {
  if (node.feedServer === undefined) throw new Error("it has no feed");
  const listener = await listenToFollowers(node.feedServer, port, tls);
  closing.push(() => listener.close());
  return listener;
}

function followConfig(url: string, changes: Partial<FollowControlConfig>): FollowControlConfig {
  return {
    kind: "follow",
    url,
    token: FEED_TOKEN,
    caFile: control.certFile,
    snapshotFile: join(makeFolder("follower"), "node.snapshot"),
    staleMsMax: undefined,
    node: "edge-1",
    hasRules: false,
    ...changes,
  };
}

const tierOf = ({ state }: ControlNode) => state.find("plan", "a")?.tier;

it("follows a control node whose certificate caFile vouches for", async () => {
  const { url } = await listen(control);
  const { node: follower } = await open(followConfig(url, {}));
  expect(tierOf(follower)).toBe(node.state.find("plan", "a")?.tier);
  await savePlan("two");
  await vi.waitFor(() => expect(tierOf(follower)).toBe("two"), 20_000);
});

it.each([
  ["no caFile", control, undefined, /self-signed certificate.*set control\.caFile/s],
  [
    "the caFile of another authority",
    control,
    another.certFile,
    /DEPTH_ZERO.*set control\.caFile/s,
  ],
  ["a certificate that has expired", expired, expired.certFile, /CERT_HAS_EXPIRED.*renew/s],
  [
    "a certificate for another host",
    elsewhere,
    elsewhere.certFile,
    /127\.0\.0\.1 is not in.*set control\.follow/s,
  ],
])(
  "with %s says so, sends no token, and starts from its snapshot",
  async (_what, tls, caFile, words) => {
    const wrong = await listen(tls);
    await expect(open(followConfig(wrong.url, { caFile }))).rejects.toThrow(words);
    expect(wrong.requests).toEqual([]);
    // It has followed before.
    const right = await listen(control);
    const config = followConfig(right.url, {});
    const { node: before } = await open(config);
    const tier = tierOf(before);
    await before.close();
    await right.close();
    const { node: follower, problems } = await open({ ...config, url: wrong.url, caFile });
    expect(tierOf(follower)).toBe(tier);
    expect(String(problems.mock.calls[0]?.[1])).toMatch(words);
  },
);

it("refuses a caFile that is not a certificate", async () => {
  const caFile = join(folder, "nothing.crt");
  writeFileSync(caFile, "not a certificate\n");
  const { url } = await listen(control);
  await expect(open(followConfig(url, { caFile }))).rejects.toThrow(/caFile|certificate/);
});
