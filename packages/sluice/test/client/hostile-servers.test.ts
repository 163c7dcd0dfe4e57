import { stopAll } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "../../src/client/client.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { head, OK, serve } from "./raw-server.js";

afterEach(stopAll);

describe("a client of a server", () => {
  it("that never answers gives up at its deadline, and closes the connection", async () => {
    const clock = new ManualClock(1_800_000_000_000);
    let isClosed = false;
    const url = await serve((socket) => {
      socket.on("close", () => {
        isClosed = true;
      });
      // Not before the request is here: a connection that is still being made is not closed.
      clock.advance(100);
    });
    const fetch = createFetch({ deadlineMs: 100, clock });
    await expect(fetch(url)).rejects.toMatchObject({ code: "SLUICE_CLIENT_DEADLINE" });
    await expect.poll(() => isClosed).toBe(true);
  });

  it("that closes the connection without an answer repeats the request", async () => {
    const url = await serve((socket, count) => {
      if (count < 3) socket.destroy();
      else socket.end(OK);
    });
    const fetch = createFetch({ backoffMs: 1 });
    expect(await (await fetch(url)).text()).toBe("ok");
    expect(fetch.stats).toMatchObject({ attempts: 3, retries: 2, failures: 2 });
  });

  it("that cuts off the body of an answer leaves that to the caller, who has the response", async () => {
    const url = await serve((socket) => socket.end(`${head(200, "Content-Length: 100")}half`));
    const fetch = createFetch();
    const response = await fetch(url);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(fetch.stats).toMatchObject({ attempts: 1, inFlight: 0 });
  });

  it("that cuts off the body of a refusal repeats the request", async () => {
    const url = await serve((socket, count) => {
      if (count === 1) socket.end(`${head(429, "Content-Length: 100")}half`);
      else socket.end(OK);
    });
    expect(await (await createFetch({ backoffMs: 1 })(url)).text()).toBe("ok");
  });

  it("that never ends the body of a refusal repeats the request, and drops the body", async () => {
    const url = await serve((socket, count) => {
      if (count === 1) socket.write(`${head(429, "Content-Length: 100")}half`);
      else socket.end(OK);
    });
    expect(await (await createFetch({ backoffMs: 1 })(url)).text()).toBe("ok");
  });

  it.each([
    ["a reason that is not ASCII", "429 zu viele →", "429", "zu viele →"],
    ["a status that does not exist", "700 Odd", "700", "Odd"],
  ])(
    "that refuses with %s does not turn the response into an error",
    async (_what, line, status, reason) => {
      const fields = ["X-Should-Retry: true", 'RateLimit: "a";r=0;t=1', "Content-Length: 2"];
      const url = await serve((socket) => {
        socket.end(`HTTP/1.1 ${line}\r\n${fields.join("\r\n")}\r\n\r\nno`);
      });
      // The retry has to wait, and none may.
      const response = await createFetch({ waitingMax: 0, backoffMs: 1 })(url);
      for (const each of [response.clone(), response]) {
        expect([`${each.status}`, each.statusText, each.ok, each.url]).toEqual([
          status,
          reason,
          false,
          url,
        ]);
        expect([each.headers.get("content-length"), await each.text()]).toEqual(["2", "no"]);
      }
    },
  );

  it("that fails when a stream was uploaded gets a new one", async () => {
    let uploads = 0;
    const url = await serve((socket, _count, data) => {
      const isWhole = data.endsWith("0\r\n\r\n");
      // The connection stays open: the retry might be sent on one that is being closed, and again.
      if (isWhole) socket.write(++uploads === 1 ? head(500, "Content-Length: 0") : OK);
    });
    const body = () => new Blob(["part"]).stream();
    const fetch = createFetch({ backoffMs: 1 });
    const response = await fetch(url, { method: "PUT" }, { body });
    expect([response.status, await response.text(), uploads]).toEqual([200, "ok", 2]);
  });

  it("that redirects in a circle does not go around again", async () => {
    let requests = 0;
    const url = await serve((socket) => {
      requests++;
      socket.write(head(302, "Location: /again", "Content-Length: 0"));
    });
    const fetch = createFetch({ backoffMs: 1 });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(fetch.stats).toMatchObject({ attempts: 1, failures: 0 });
    expect(requests).toBeLessThan(30);
  });

  it("that sends hints first, and then that nothing has changed, takes the last for the answer", async () => {
    const hints = ["Link: </a.css>; rel=preload", 'RateLimit: "a";r=0;t=60', "Retry-After: 60"];
    const unchanged = head(304, 'ETag: "1"', 'RateLimit: "a";r=5;t=60');
    const url = await serve((socket) => {
      socket.write(head(103, ...hints));
      socket.write(head(103, ...hints) + unchanged);
    });
    const fetch = createFetch({ deadlineMs: 5_000 });
    for (let i = 0; i < 3; i++) {
      const response = await fetch(url, { headers: { "If-None-Match": '"1"' } });
      expect([response.status, await response.text()]).toEqual([304, ""]);
    }
    expect(fetch.stats).toMatchObject({ attempts: 3, refusals: 0, failures: 0, unsent: 0 });
  });

  it("that is not HTTP does not repeat the request", async () => {
    const url = await serve((socket) => socket.end("SSH-2.0-OpenSSH_9\r\n"));
    const fetch = createFetch({ backoffMs: 1 });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(fetch.stats.attempts).toBe(1);
  });

  it("that sends senseless headers answers as if they were not there", async () => {
    const many = Array.from({ length: 500 }, (_, i) => `"p${i}";r=0;t=999999999999999`).join(", ");
    const senseless = [
      [`RateLimit: ${many}`],
      ['RateLimit: "a";r=-1;t=60', "RateLimit-Policy: ;;;"],
      ["X-RateLimit-Remaining: -5", "X-RateLimit-Reset: NaN"],
      ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: -1e99"],
      ["RateLimit-Remaining: 0x10", "RateLimit-Reset: Infinity"],
      ['RateLimit: "a";r=0;t=60', "Age: 5"],
    ];
    const url = await serve((socket, count) => {
      socket.end(`${head(200, "Content-Length: 2", ...(senseless[count - 1] ?? []))}ok`);
    });
    const fetch = createFetch({ deadlineMs: 5_000 });
    for (let i = 0; i < senseless.length + 1; i++) expect((await fetch(url)).status).toBe(200);
    expect(fetch.stats).toMatchObject({ waits: 0, unsent: 0 });
  });
});
