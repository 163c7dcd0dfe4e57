// `sluice serve` as it looks to who starts it: on a terminal, elsewhere, and with nothing there to serve.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { FakeTerminal, sluice } from "../../../test/cli/fake-terminal.js";
import { runCommand } from "../program.js";

const folder = makeFolder("serve-terminal");
const RULES = "version: 1\nrules:\n  - { id: login, match: { path: /login }, limit: 5/minute }\n";

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function writeConfig(store: string): string {
  write("rules.yaml", RULES);
  return write(
    "sluice.yaml",
    `gateway: { listen: 127.0.0.1:0 }
admin: { listen: 127.0.0.1:0 }
upstreams: { app: { backends: ["http://127.0.0.1:9"] } }
routes: [{ path: /*, upstream: app }]
store: ${store}
rules: { file: rules.yaml }
`,
  );
}

async function serve(store: string) {
  const file = writeConfig(store);
  const terminal = new FakeTerminal({ isTty: true });
  const code = runCommand(["serve", "-c", file], terminal);
  await terminal.until(({ out }) => out.includes("Ctrl-C"));
  const admin = /admin +(http:\S+)/.exec(terminal.out)?.[1] ?? "";
  const stop = () => {
    terminal.end();
    return code;
  };
  return { file, terminal, admin, stop };
}

describe("sluice serve on a terminal", () => {
  it("sums up what runs, logs for people, and says when it has stopped", async () => {
    const { file, terminal, stop } = await serve("{ kind: memory }");
    expect(terminal.out).toMatch(/^Sluice \d+\.\d+\.\d+\n/);
    expect(terminal.out).toContain(`configuration  ${file}\n`);
    expect(terminal.out).toMatch(/ {2}gateway +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(terminal.out).toMatch(/ {2}rules +1 \(version \w+\)\n/);
    expect(terminal.out).toMatch(/ {2}store +memory\n/);
    terminal.process.emit("warning", Object.assign(new Error("take care"), { name: "Care" }));
    expect(terminal.out).toMatch(/warn \S* {2}take care {2}warning=Care\n/);
    expect(await stop()).toBe(0);
    expect(terminal.out).toMatch(
      /info {3}draining {2}signal=SIGINT\n(?:.*\n)*.*info {3}stopped\n$/,
    );
    expect(terminal.out).not.toContain('"level"');
  });

  it("logs a problem of the rules once and without a stack, however often they are read", async () => {
    const { terminal, admin, stop } = await serve("{ kind: memory }");
    write("rules.yaml", RULES.replace("5/minute", "seven"));
    const { code } = await sluice(["reload", "--admin", admin]);
    expect(code).toBe(1);
    terminal.process.emit("SIGHUP", "SIGHUP");
    await sluice(["reload", "--admin", admin]);
    expect(terminal.out.split('got "seven"')).toHaveLength(2);
    expect(terminal.out).not.toMatch(/^\s+at /m);
    write("rules.yaml", RULES);
    expect((await sluice(["reload", "--admin", admin])).code).toBe(0);
    await stop();
  });
});

describe("sluice serve with a Redis that is not there", () => {
  it("says so in one line at the start, and in /readyz as a reason, with nothing secret", async () => {
    const store = '{ kind: redis, url: "redis://someone:hush@127.0.0.1:9/3" }';
    const { terminal, admin, stop } = await serve(store);
    const line =
      "redis unreachable at 127.0.0.1:9: ECONNREFUSED; deciding locally until it is back";
    expect(terminal.out).toMatch(new RegExp(`error\\S* {2}${line}\n`));
    expect(terminal.out).toContain(`store          ${line}\n`);
    const response = await fetch(`${admin}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { ready: true, reasons: [line] },
    ]);
    await sluice(["peek", "--path", "/login", "--ip", "203.0.113.10", "--admin", admin]);
    await stop();
    expect(terminal.out + terminal.err).not.toMatch(/hush|someone/);
  });

  it.each(["http://someone:hush@127.0.0.1", "redis//someone:hush@x", "someone:hush@x"])(
    "shows no secret of %s, which is not an address of Redis",
    async (url) => {
      const file = writeConfig(`{ kind: redis, url: "${url}" }`);
      const { code, err } = await sluice(["serve", "--check", "-c", file]);
      expect(code).toBe(1);
      expect(err).toContain("store.url");
      expect(err).not.toContain("hush");
    },
  );
});

describe("sluice serve without a configuration", () => {
  it("says how to get one, and exits with 1", async () => {
    const { code, err } = await sluice(["serve", "-c", join(folder, "none.yaml")]);
    expect(code).toBe(1);
    expect(err).toContain("none.yaml: no such file");
    expect(err).toContain("sluice init ");
    expect(err).toContain("sluice demo --print-config > sluice.yaml");
  });
});
