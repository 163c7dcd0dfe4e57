// What sluice.yaml says about all limits and answers, over gRPC and JSON. Each rule of it is in compatibility.test.ts.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  connect,
  descriptor,
  later,
  makeCore,
  makeFiles,
  openWith,
} from "../../test/envoy-harness.js";
import { openEnvoy } from "./envoy.js";

const NAMES = {
  limit: "RateLimit-Limit",
  remaining: "RateLimit-Remaining",
  reset: "RateLimit-Reset",
};
const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1 }
    metadata: { pool: reserved }
`;
const ALICE = [descriptor({ user: "alice" })];

it("headers and metadata reach a gRPC client", async () => {
  const requestHeaders = { ...NAMES, limit: "X-Limit" };
  const envoy = { responseHeaders: NAMES, requestHeaders, dynamicMetadata: true };
  const { client } = await openWith(FILE, { envoy });
  const descriptors = [{ entries: ["user=alice"] }];
  const [left, reset] = ["RateLimit-Remaining", "RateLimit-Reset"];
  expect(await client.ask({ descriptors: ALICE })).toMatchObject({
    overallCode: 1,
    responseHeaders: [
      { key: "RateLimit-Limit", value: "1" },
      { key: left, value: "0" },
      { key: reset, value: "3600" },
    ],
    requestHeaders: [
      { key: "X-Limit", value: "1" },
      { key: left, value: "0" },
      { key: reset, value: "3600" },
    ],
    dynamicMetadata: { domain: "web", descriptors, metadata: { pool: "reserved" } },
  });
  // The second refusal is one that was made before.
  for (const user of ["alice", "alice", "bob", "bob", "bob"]) {
    const answer = await client.ask({ descriptors: [descriptor({ user })] });
    expect(answer.dynamicMetadata?.descriptors).toEqual([{ entries: [`user=${user}`] }]);
    expect(answer.responseHeaders.map(({ key }) => key)).toEqual(
      answer.overallCode === 1 ? Object.values(NAMES) : ["retry-after", ...Object.values(NAMES)],
    );
  }
});

it("headers and metadata are in JSON under the names of the protocol", async () => {
  const envoy = { responseHeaders: NAMES, requestHeaders: NAMES, dynamicMetadata: true };
  const { listener } = await openWith(FILE, { envoy, hasHttp: true });
  const body = JSON.stringify({
    domain: "web",
    descriptors: ALICE.map(({ entries }) => ({ entries })),
  });
  const answer = await fetch(`${listener.httpUrl}/json`, { method: "POST", body });
  const headers = [
    { key: "RateLimit-Limit", value: "1" },
    { key: "RateLimit-Remaining", value: "0" },
    { key: "RateLimit-Reset", value: "3600" },
  ];
  expect(await answer.json()).toMatchObject({
    overallCode: "OK",
    responseHeadersToAdd: headers,
    requestHeadersToAdd: headers,
    dynamicMetadata: {
      domain: "web",
      descriptors: [{ entries: ["user=alice"] }],
      metadata: { pool: "reserved" },
    },
  });
});

it.each([
  ["shadowMode lets every request pass", { shadowMode: true }, [1, 1, 1]],
  ["quotaMode refuses where all limits are over", { quotaMode: true }, [1, 2, 2]],
])("%s", async (_, envoy, codes) => {
  const { client, heard } = await openWith(FILE, { envoy });
  for (const code of codes) {
    const answer = await client.ask({ descriptors: ALICE });
    expect(answer.overallCode).toBe(code);
    if (code === 1) expect(answer.responseHeaders).toEqual([]);
  }
  expect(heard.refusals).toHaveLength(codes.filter((code) => code === 2).length);
});

it("mergeDomains joins the files of a domain, also when one of them changes", async () => {
  const other = (most: number) =>
    `domain: web\ndescriptors: [{ key: ip, rate_limit: { unit: day, requests_per_unit: ${most} } }]`;
  const folder = makeFiles({ "a.yaml": FILE, "b.yaml": other(5) });
  const { core, heard } = makeCore({ files: [folder], envoy: { mergeDomains: true } });
  const listener = await openEnvoy(core);
  later(() => listener.close());
  const client = connect(listener.url);
  const limits = async () => {
    const { statuses } = await client.ask({ descriptors: [...ALICE, descriptor({ ip: "1" })] });
    return statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit);
  };
  expect(await limits()).toEqual([1, 5]);
  writeFileSync(join(folder, "b.yaml"), other(6));
  await listener.reload();
  expect(await limits()).toEqual([1, 6]);
  writeFileSync(join(folder, "b.yaml"), FILE);
  await listener.reload();
  expect(String(heard.reloads.at(-1))).toMatch(/duplicate descriptor composite key "web\.user"/);
  expect(await limits()).toEqual([1, 6]);
});
