// The guide: what it shows works, and the answers that it shows are those that come.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openTestListener } from "../../test/decision-listener.js";

const guide = readFileSync(
  new URL("../../../../docs/guides/decision-api.md", import.meta.url),
  "utf8",
);

it("the requests of the guide are answered, and as it says where it says so", async () => {
  const test = await openTestListener();
  const shown = /localhost:8082(\S+) .*\\\n {2}-d '(.*)'(?:\n# (\{.*\}))?$/gm;
  let asked = 0;
  for (const [, path, body, answer] of guide.matchAll(shown)) {
    asked += 1;
    const answered = await test.post(path, body);
    expect(answered.status).toBe(200);
    if (answer !== undefined) expect(answered.body).toEqual(JSON.parse(answer));
  }
  expect(asked).toBe(3);
  const [problem] = /^\{\n[^`]*^\}$/m.exec(guide) ?? [""];
  const facts = { method: "GET", path: "/", user: 42 };
  expect((await test.post("/v1/check", { facts })).body).toEqual(JSON.parse(problem));
  await test.close();
});

it("the guide names every verb, and no other", async () => {
  const test = await openTestListener();
  const { paths } = (await test.get("/openapi.json")).body as { paths: Record<string, object> };
  await test.close();
  const named = [...guide.matchAll(/^\| `(?:GET )?(\/v1\/\w+)` \|/gm)].map(([, path]) => path);
  expect(named.toSorted()).toEqual(Object.keys(paths).toSorted());
});
