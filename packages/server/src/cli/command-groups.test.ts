import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { FakeTerminal, sluice } from "../../test/cli/fake-terminal.js";
import { commandGroups, groupsFor } from "./command-groups.js";

describe("a group of verbs", () => {
  it.each(commandGroups)("lists just what its file adds: $verbs", async ({ verbs, load }) => {
    const program = new Command();
    const add = await load();
    add(program, { terminal: new FakeTerminal(), finish: () => {} });
    expect(program.commands.map((command) => command.name())).toEqual(verbs);
  });

  it("is the only one that is loaded for one of its verbs, and none is for the version", () => {
    expect(groupsFor(["peek", "--help"]).map(({ verbs }) => verbs)).toEqual([
      ["check", "peek", "explain"],
    ]);
    expect(groupsFor(["--version"])).toEqual([]);
    expect(groupsFor(["-V"])).toEqual([]);
  });

  it.each([[[]], [["--help"]], [["help", "serve"]], [["toString"]], [["severe"]]])(
    "is loaded with all others for %j",
    (args) => {
      expect(groupsFor(args)).toBe(commandGroups);
    },
  );
});

it("names the verb that was probably meant", async () => {
  const { code, err } = await sluice(["severe"]);
  expect(err).toContain("Did you mean serve?");
  expect(code).toBe(2);
});
