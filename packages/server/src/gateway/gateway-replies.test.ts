import { afterEach, describe, expect, it } from "vitest";
import { BrokenStore } from "../../test/decision-listener.js";
import { closedUrl, startGateway, stopAll } from "../../test/proxy-fixture.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

afterEach(stopAll);

const RULE = { id: "strict", key: "ip", limit: "5/minute", onStoreFailure: "throw" };

/** Telemetry, and the lines that its log has from now on. */
function listen() {
  const telemetry = silentTelemetry();
  const lines: unknown[][] = [];
  const write = (...line: unknown[]) => void lines.push(line);
  telemetry.log.warn = telemetry.log.error = write as never;
  return { telemetry, lines };
}

describe("a request that can't be decided", () => {
  it("because the store is unavailable is 503 and says so, with one line for all of them", async () => {
    const { telemetry, lines } = listen();
    const core = { store: new BrokenStore(), telemetry };
    const { url } = await startGateway(await closedUrl(), { rules: [RULE], core });
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(url);
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    }
    expect(lines.filter(([, text]) => text === "the store decided nothing")).toHaveLength(1);
  });

  it("because of a fault of ours is 500, and is not blamed on the upstream", async () => {
    const { telemetry, lines } = listen();
    const { url, core } = await startGateway(await closedUrl(), { core: { telemetry } });
    (core.policy as { admit: unknown }).admit = () => {
      throw new Error("secret detail");
    };
    const answer = await fetch(url);
    expect(answer.status).toBe(500);
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ code: "SLUICE_FAULT" });
    expect(text).not.toContain("secret");
    expect(lines).toHaveLength(1);
  });
});
