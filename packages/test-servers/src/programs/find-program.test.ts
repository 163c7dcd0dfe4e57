import { expect, it } from "vitest";
import { ensureProgram, type Machine } from "./find-program.js";

/** A machine without anything, on which nothing can be installed. */
const bare: Machine = {
  find: () => undefined,
  isDebian: () => false,
  isRoot: () => true,
  run: () => false,
  holdServices: () => () => {},
  say: () => {},
};

it("says which package has a program that is missing", () => {
  const message = "nginx is not on the PATH; get it with: apt-get install nginx-light";
  expect(() => ensureProgram("nginx", "nginx-light", bare)).toThrow(message);
});

it("installs the package of that name, not the program", () => {
  const ran: string[] = [];
  const run = (_: string, args: readonly string[]) => ran.push(args.at(-1) as string) > 0;
  const debian: Machine = { ...bare, isDebian: () => true, run };
  expect(() => ensureProgram("nginx", "nginx-light", debian)).toThrow("nginx-light");
  expect(ran).toEqual(["nginx-light"]);
});

it("finds the proxies that tests start", () => {
  expect(ensureProgram("nginx")).toMatch(/nginx$/);
  expect(ensureProgram("haproxy")).toMatch(/haproxy$/);
});
