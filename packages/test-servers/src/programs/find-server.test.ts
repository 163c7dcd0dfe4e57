import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../folder.js";
import { ensureRedisServer, findProgram, findValkeyServer, type Machine } from "./find-server.js";

const howToGetIt = "redis-server is not on the PATH; get it with: apt-get install redis-server";

/** A machine that writes down what is done to it, where redis-server appears once installed. */
function machineWith(traits: { debian?: boolean; root?: boolean; failingInstalls?: number }) {
  const done: string[] = [];
  let failuresLeft = traits.failingInstalls ?? 0;
  let isInstalled = false;
  const machine: Machine = {
    find: (program) => (isInstalled ? `/usr/bin/${program}` : undefined),
    isDebian: () => traits.debian ?? true,
    isRoot: () => traits.root ?? true,
    run: (program, args) => {
      done.push(`${program} ${args[0]}`);
      if (args[0] === "install") isInstalled = failuresLeft-- <= 0;
      return args[0] !== "install" || isInstalled;
    },
    holdServices: () => {
      done.push("hold services");
      return () => void done.push("release services");
    },
    say: (line) => void done.push(`say ${line}`),
  };
  return { machine, done };
}

const announced = "say redis-server is missing: installing it with apt-get";

it("installs a missing redis-server on Debian as root, and says so, with services held", () => {
  const { machine, done } = machineWith({});
  expect(ensureRedisServer(machine)).toBe("/usr/bin/redis-server");
  expect(done).toEqual([announced, "hold services", "apt-get install", "release services"]);
});

it("fetches the package lists when the first attempt fails", () => {
  const { machine, done } = machineWith({ failingInstalls: 1 });
  expect(ensureRedisServer(machine)).toBe("/usr/bin/redis-server");
  const attempts = ["apt-get install", "apt-get update", "apt-get install"];
  expect(done).toEqual([announced, "hold services", ...attempts, "release services"]);
});

it.each([
  ["without root", { root: false }],
  ["off Debian", { debian: false }],
])("%s it installs nothing and says how to get it", (_, traits) => {
  const { machine, done } = machineWith(traits);
  expect(() => ensureRedisServer(machine)).toThrow(howToGetIt);
  expect(done).toEqual([]);
});

it("says how to get it when installing fails, and lets services go", () => {
  const { machine, done } = machineWith({ failingInstalls: 2 });
  expect(() => ensureRedisServer(machine)).toThrow(howToGetIt);
  expect(done.at(-1)).toBe("release services");
});

it("finds programs on the PATH, and only what can be executed", () => {
  const folder = makeFolder("path");
  const pathBefore = process.env.PATH;
  try {
    process.env.PATH = `/nowhere:${folder}`;
    expect(findValkeyServer()).toBeUndefined();
    writeFileSync(join(folder, "valkey-server"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(folder, "plain-file"), "", { mode: 0o644 });
    expect(findValkeyServer()).toBe(join(folder, "valkey-server"));
    expect(findProgram("plain-file")).toBeUndefined();
  } finally {
    process.env.PATH = pathBefore;
  }
});

it("finds the server that all other tests run on", () => {
  expect(ensureRedisServer()).toMatch(/redis-server$/);
});
