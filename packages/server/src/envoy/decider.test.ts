import { expect, it, vi } from "vitest";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { Decider } from "./decider.js";
import type { EnvoyLimiter } from "./limiter/limiter.js";
import { CODE, type RateLimitRequest, type RateLimitResponse } from "./messages.js";

const request = () => ({}) as RateLimitRequest;
const response = { overallCode: CODE.ok } as RateLimitResponse;

function stand(decide: () => Promise<RateLimitResponse>) {
  const telemetry = silentTelemetry();
  const problem = vi.spyOn(telemetry, "problem");
  const receiver = { answered: vi.fn(), failed: vi.fn() };
  const decider = new Decider({ decide } as unknown as EnvoyLimiter, telemetry);
  return { telemetry, problem, receiver, decider };
}

it("answers a request that fails later as one that could not be decided, and reports it", async () => {
  const lost = new Error("the store is gone");
  const { decider, receiver, problem } = stand(() => Promise.reject(lost));
  decider.decide(request, receiver);
  await vi.waitFor(() => expect(receiver.failed).toHaveBeenCalledOnce());
  expect(receiver.failed).toHaveBeenCalledWith("the request could not be decided", false);
  expect(receiver.answered).not.toHaveBeenCalled();
  expect(problem.mock.calls).toEqual([[expect.any(String), lost]]);
});

it("answers a late decision, also if reporting it fails", async () => {
  const { decider, receiver, telemetry } = stand(async () => response);
  decider.decide(request, receiver);
  await vi.waitFor(() => expect(receiver.answered).toHaveBeenCalledWith(response));
  telemetry.tookMs = () => {
    throw new Error("a metric");
  };
  decider.decide(request, receiver);
  await vi.waitFor(() => expect(receiver.failed).toHaveBeenCalledOnce());
});
