import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, it, vi } from "vitest";
import { eventually } from "../../test/proxy-fixture.js";
import { toTestConfig } from "../../test/test-config.js";
import { POLL_MS } from "../base/files/watch-files.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { ConfigInForce } from "./config-in-force.js";

afterEach(() => void vi.useRealTimers());

it("sees a change of the file that came before it was watched", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const file = join(makeFolder("server"), "sluice.yaml");
  writeFileSync(file, "version: 1");
  const config = { ...toTestConfig(), file };
  const inForce = new ConfigInForce(config, () => config, silentTelemetry());
  writeFileSync(file, "version: 1 # and more");
  const onChange = vi.fn();
  const stop = inForce.watch(onChange);
  await eventually(() => {
    vi.advanceTimersByTime(POLL_MS);
    return onChange.mock.calls.length > 0;
  });
  stop();
});
