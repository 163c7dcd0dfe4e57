// The guide of the control plane: what it shows works, in its order.

import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { startControlAdmin } from "../../test/control/admin-fixture.js";
import { testDatabases } from "../../test/control/databases.js";

const guide = readFileSync(
  new URL("../../../../docs/guides/control-plane.md", import.meta.url),
  "utf8",
);
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("the guide of the control plane, in $name", (databases) => {
  it("shows requests that are answered", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const shown = /^ask (?:-X (\w+) )?localhost:9090(\S+)(?: -d '(.*)')?$/gm;
    let asked = 0;
    for (const [, method, path, body] of guide.matchAll(shown)) {
      asked += 1;
      const request = `${method ?? (body === undefined ? "GET" : "POST")} ${path}`;
      const { status } = await admin.ask(
        request,
        body === undefined ? {} : { body: JSON.parse(body) },
      );
      expect([request, Math.floor(status / 100)]).toEqual([request, 2]);
    }
    expect(asked).toBe(14);
    await admin.close();
  });
});
