// A client in another language, which shares no code with ours, gets the right answers.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensurePythonGrpc } from "sluice-test-servers";
import { expect, it } from "vitest";
import { openWith } from "../../../test/envoy-harness.js";

const script = fileURLToPath(new URL("../../../test/envoy-client.py", import.meta.url));

it("a client with the gRPC of Python gets answers, errors and health", async () => {
  const python = ensurePythonGrpc();
  const { listener } = await openWith(`
domain: web
descriptors:
  - key: user
    value: zo*
    descriptors:
      - key: path
        rate_limit: { unit: hour, requests_per_unit: 2, name: searches }
`);
  const { stdout } = await promisify(execFile)(python, [script, new URL(listener.url).host]);
  const status = { requestsPerUnit: 2, unit: 3, name: "searches", resetSeconds: 3_600 };
  const ok = { overallCode: 1, headers: {} };
  expect(JSON.parse(stdout)).toEqual({
    answers: [
      { ...ok, statuses: [{ ...status, code: 1, remaining: 1 }] },
      { ...ok, statuses: [{ ...status, code: 1, remaining: 0 }] },
      {
        overallCode: 2,
        statuses: [{ ...status, code: 2, remaining: 0 }],
        headers: { "retry-after": "3600" },
      },
    ],
    refused: "INVALID_ARGUMENT",
    health: [1, 1],
    unknown: "NOT_FOUND",
    watched: 1,
  });
});
