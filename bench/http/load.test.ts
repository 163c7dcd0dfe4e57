import { describe, expect, it } from "vitest";
import { readRequests } from "./load.js";

const output = `Running 1s test @ http://127.0.0.1:1/
  1 threads and 32 connections
  40613 requests in 1.00s, 9.10MB read
Requests/sec:  40600.10
`;

describe("the output of wrk", () => {
  it("says how many requests were answered", () => {
    expect(readRequests(output, "node/bare")).toBe(40_613);
  });

  it("fails the run if a request was refused or lost", () => {
    for (const trouble of ["Non-2xx or 3xx responses: 7", "Socket errors: connect 0, read 1"]) {
      const withTrouble = output.replace("Requests/sec", `  ${trouble}\nRequests/sec`);
      expect(() => readRequests(withTrouble, "node/bare")).toThrow(`node/bare: ${trouble}`);
    }
  });

  it("fails the run if it says nothing", () => {
    expect(() => readRequests("", "node/bare")).toThrow("no number in the output");
  });
});
