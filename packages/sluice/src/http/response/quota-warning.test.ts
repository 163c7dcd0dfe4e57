// The header by which a durable quota warns before it is used up.

import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf } from "../../../test/handler-stand.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { HttpOptions } from "../handler/http-options.js";

const quota = (limit: number) => ({ quota: { limit, period: "month" } });

function stand(rule: object, http: HttpOptions = {}) {
  const rules = [{ id: "exports", key: "ip", limit: quota(10), ...rule }];
  const { handle } = requestHandlerOf(rules, http, { durableStore: memoryStore() });
  return () => byName(handle().fields)["sluice-quota-warning"];
}

/** The warnings of requests 1 to 11. */
function warnings(rule: object, http?: HttpOptions): (string | undefined)[] {
  const next = stand(rule, http);
  return Array.from({ length: 11 }, () => next());
}

describe("Sluice-Quota-Warning", () => {
  it("comes with the first share of alertAt, and with refusals", () => {
    const seen = warnings({ durable: { alertAt: ["80%", "100%"], header: true } });
    expect(seen.slice(0, 7)).toEqual(Array.from({ length: 7 }));
    expect(seen.slice(7)).toEqual([
      '"exports";used=0.8',
      '"exports";used=0.9',
      '"exports";used=1',
      '"exports";used=1',
    ]);
  });

  it("is independent of the form of other headers", () => {
    for (const headers of ["none", "draft-6", "draft-7", "draft-8"] as const) {
      const http = { headers, legacyHeaders: false };
      expect(warnings({ durable: { header: true } }, http)[8]).toBe('"exports";used=0.9');
    }
  });

  it("is absent unless the rule asks for it, and where the rule is hidden or a shadow", () => {
    const header = { durable: { header: true } };
    for (const rule of [
      { durable: true },
      { ...header, expose: false },
      { ...header, onExceed: "shadow" },
    ]) {
      expect(warnings(rule).filter((each) => each !== undefined)).toEqual([]);
    }
  });

  it("names each of several quotas", () => {
    const limit = [{ quota: { limit: 10, period: "day" } }, quota(12)];
    const seen = warnings({ limit, durable: { alertAt: [75], header: true } });
    expect(seen[8]).toBe('"exports";used=0.9, "exports/2";used=0.75');
  });
});
