import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { descriptor, openWith, SHOULD_RATE_LIMIT } from "../../test/envoy-harness.js";
import { CODE } from "./messages.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 2, name: per-user }
`;

it("answers OK up to the limit and OVER_LIMIT with retry-after beyond it", async () => {
  const { client, heard } = await openWith(FILE);
  const ask = () => client.ask({ descriptors: [descriptor({ user: "a" })] });
  const currentLimit = { requestsPerUnit: 2, unit: 2, name: "per-user" };
  const status = { code: CODE.ok, currentLimit, resetSeconds: 60 };
  const ok = { overallCode: CODE.ok, responseHeaders: [] };
  expect(await ask()).toEqual({ ...ok, statuses: [{ ...status, remaining: 1 }] });
  expect(await ask()).toEqual({ ...ok, statuses: [{ ...status, remaining: 0 }] });
  expect(await ask()).toEqual({
    overallCode: CODE.overLimit,
    statuses: [{ ...status, code: CODE.overLimit, remaining: 0 }],
    responseHeaders: [{ key: "retry-after", value: "60" }],
  });
  expect(heard.refusals).toEqual([429]);
  expect(heard.tookMs).toHaveLength(3);
});

it.each([
  ["an empty domain", { domain: "", descriptors: [descriptor({ user: "a" })] }],
  ["no descriptors", { descriptors: [] }],
  ["more than 128 descriptors", { descriptors: Array(129).fill(descriptor({ user: "a" })) }],
  [
    "a limit of no unit",
    { descriptors: [descriptor({ user: "a" }, { limit: { requestsPerUnit: 1, unit: 0 } })] },
  ],
  [
    "a limit of an unknown unit",
    { descriptors: [descriptor({ user: "a" }, { limit: { requestsPerUnit: 1, unit: 8 } })] },
  ],
])("refuses %s with INVALID_ARGUMENT", async (_, request) => {
  const { client } = await openWith(FILE);
  await expect(client.ask(request)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
});

it("refuses bytes that are not a message with INVALID_ARGUMENT, and goes on", async () => {
  const { client } = await openWith(FILE);
  const sent = client.send(SHOULD_RATE_LIMIT, Buffer.from([0x0a, 0x7f, 1]));
  await expect(sent).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  const response = await client.ask({ descriptors: [descriptor({ user: "a" })] });
  expect(response.overallCode).toBe(CODE.ok);
});

it("refuses a message that is larger than its bound, and goes on", async () => {
  const { client } = await openWith(FILE);
  const sent = client.send(SHOULD_RATE_LIMIT, Buffer.alloc(65_537));
  await expect(sent).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  const response = await client.ask({ descriptors: [descriptor({ user: "a" })] });
  expect(response.overallCode).toBe(CODE.ok);
});

it("metrics name limits as the file does, and show no value of a request", async () => {
  const { client, core } = await openWith(`
domain: web
descriptors:
  - key: tenant
    descriptors:
      - key: path
        value: /api/*
        rate_limit: { unit: minute, requests_per_unit: 1 }
`);
  const asked = { descriptors: [descriptor({ tenant: "acme", path: "/api/orders" })] };
  for (let i = 0; i < 3; i++) await client.ask(asked);
  const limit = { requestsPerUnit: 5, unit: 2 };
  await client.ask({ descriptors: [descriptor({ whom: "bob" }, { limit })] });
  const metrics = await core.telemetry.metrics();
  const linesOf = (name: string) =>
    metrics.split("\n").filter((line) => line.startsWith(`${name}{`) && / [1-9]\d*$/.test(line));
  expect(linesOf("rate_limiter_blocked_total").join()).toMatch(
    /rule="web\/tenant\/path_\/api\/\*".*key_type="tenant\|path".* 2$/,
  );
  expect(linesOf("rate_limiter_allowed_total")).toHaveLength(2);
  expect(metrics).toContain("web/(request)");
  expect(metrics).not.toMatch(/acme|orders|whom|bob/);
});
