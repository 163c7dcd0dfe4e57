// Nothing is smuggled: malformed framings are sent as they are, each with a second request hidden behind it,
// in front of an upstream that is as strict as it can be and of one that forgives all that Node forgives.

import { connectTo } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";
import { FRAMING_CASES, type FramingCase, toHidden } from "./framing-cases.js";

describe.each([
  ["strict", false],
  ["forgiving", true],
])("in front of a %s upstream", (_, insecureHTTPParser) => {
  let fixture: GatewayFixture;

  beforeAll(async () => {
    fixture = await startFixture({
      upstreamServer: { insecureHTTPParser, requireHostHeader: false },
      gateway: { headersTimeoutMs: 3_000, requestTimeoutMs: 3_000 },
    });
  });
  afterAll(() => fixture.close());

  it("knows at least 200 malformed framings", () => {
    expect(FRAMING_CASES.filter(({ outcome }) => outcome === "refused").length).toBeGreaterThan(
      200,
    );
    expect(new Set(FRAMING_CASES.map(({ text }) => text)).size).toBe(FRAMING_CASES.length);
  });

  it.concurrent.each(FRAMING_CASES.map((it, id) => [it.name, it, id] as const))(
    "%s",
    async (_, framing, id) => {
      await check(fixture, framing, id);
    },
  );

  it("still serves good clients", async () => {
    expect(await (await fetch(`${fixture.url}/good`)).text()).toBe("/good");
    expect(fixture.upstream.begun.filter((path) => path.includes("hidden"))).toEqual([]);
  });
});

async function check(
  fixture: GatewayFixture,
  { text, outcome }: FramingCase,
  id: number,
): Promise<void> {
  const hidden = toHidden(id);
  const first = text.replaceAll("/first", `/first-${id}`).replace("LENGTH", `${hidden.length}`);
  const client = (await connectTo(fixture.url)).send(first + hidden);
  try {
    if (outcome === "body") {
      await client.until((answer) => answer.endsWith(`\r\n\r\n/first-${id}`));
      const seen = fixture.upstream.seen.find(({ url }) => url === `/first-${id}`);
      expect(seen?.body).toBe(hidden);
      expect(seen?.rawHeaders.filter(isFraming)).toHaveLength(1);
    } else if (outcome === "alone") {
      // What follows a last request is none of ours; Node's parser takes it for an error.
      expect(statusesIn(await client.closed())).toEqual([expect.stringMatching(/^(?:200|400)$/)]);
    } else {
      const answer = await client.closed();
      const statuses = statusesIn(answer);
      expect(statuses).toHaveLength(1);
      expect(outcome === "late" ? ["400", "408"] : ["400", "431"]).toContain(statuses[0]);
      expect(fixture.upstream.seen.some(({ url }) => url.includes(`/first-${id}`))).toBe(false);
    }
    expect(fixture.upstream.begun.some((url) => url.includes(`/hidden-${id}`))).toBe(false);
  } finally {
    client.end();
  }
}

function isFraming(text: string, i: number): boolean {
  return i % 2 === 0 && /^(?:content-length|transfer-encoding)$/i.test(text);
}

function statusesIn(answer: string): string[] {
  return [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status ?? "");
}
