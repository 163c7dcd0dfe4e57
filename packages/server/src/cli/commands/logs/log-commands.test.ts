import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parseRules } from "sluice/rules";
import { JSON_FIELDS, makeFolder, makeTraffic, toLogLine } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { sluice } from "../../../../test/cli/fake-terminal.js";

const NOON = Date.UTC(2026, 10, 17, 12);
const folder = makeFolder("log-commands");
const requests = [...makeTraffic({ requests: 2_000, callers: 100, startMs: NOON, perSecond: 50 })];
const linesOf = (format: "combined" | "json") =>
  requests.map((request) => `${toLogLine(format, request)}\n`).join("");

function write(name: string, text: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const log = write("access.log", `${linesOf("combined")}garbage \u001b[2J\n`);
const rules = write("rules.yaml", "version: 1\nrules: [{ id: all, limit: 10/minute }]\n");
const old = write("old.yaml", "version: 1\nrules: [{ id: all, limit: 50/minute }]\n");

/** A log that can't be read to its end. */
async function* failing() {
  yield Buffer.from(linesOf("combined").repeat(2));
  throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO", syscall: "read" });
}

describe("sluice replay", () => {
  it("prints what would have been refused, by rule and key, and names the format", async () => {
    const { code, out, err } = await sluice(["replay", log, "--rules", rules]);
    expect(code).toBe(0);
    expect(err).toBe(`${log}: nginx combined (detected)\n`);
    expect(out).toMatch(
      /^2,000 requests of 100 callers in 39 seconds, from 2026-11-17 12:00:00 to/,
    );
    expect(out).toMatch(/rules\.yaml would have refused [\d,]+ \([\d.]+%\) requests, of \d+/);
    expect(out).toMatch(/\nrule +counted +refused +keys +first +last\nall +2,000 +\d+/);
    expect(out).toMatch(/\nip:10\.0\.0\.0 +all +\d+ +2026-11-17/);
    expect(out).toContain("1 of 2,001 lines malformed; the first:\n");
    expect(out).not.toContain("\u001b");
  });

  it("says of a service's configuration what to pass instead", async () => {
    for (const [section, instead] of [
      ["{ file: limits.yaml }", "pass the rule file that it names, limits.yaml"],
      ["\n  file: 'limits.yaml'", "pass the rule file that it names, limits.yaml"],
      ["{ version: 1, rules: [] }", "pass a file with what its rules section says"],
    ]) {
      const text = `version: 1\nupstreams: { app: { url: "http://127.0.0.1:1" } }\nrules: ${section}\n`;
      const path = write("sluice.yaml", text);
      const { code, err } = await sluice(["replay", log, "--rules", path]);
      expect(code).toBe(1);
      expect(err).toContain(
        `${path} is the configuration of a service, not a rule file; ${instead}\n`,
      );
      expect(err.trim().split("\n")).toHaveLength(1);
    }
  });

  it("compares with other rules, of rotated and compressed logs in any order", async () => {
    const half = requests.length / 2;
    const parts = [requests.slice(half), requests.slice(0, half)].map((part) =>
      part.map((request) => toLogLine("combined", request)).join("\n"),
    );
    const files = [
      write("log.1", parts[0] as string),
      write("log.2.gz", gzipSync(parts[1] as string)),
    ];
    const { out, err } = await sluice(["replay", ...files, "--rules", rules, "--against", old]);
    expect(err).toMatch(/log\.2\.gz.*\n.*log\.1/);
    expect(out).toMatch(/old\.yaml would have refused \d+/);
    expect(out).toMatch(/newly refused: \d+, newly allowed: 0/);
    expect(out).not.toContain("later than the window");
  });

  it("prints JSON, also of the standard input, with keys hashed if that is asked for", async () => {
    const page = join(folder, "hashed.html");
    const args = ["replay", "-", "--rules", rules, "--against", old, "--hash", "--html", page];
    const input = gzipSync(`${linesOf("combined")}10.0.0.5 - zoe [cut off`);
    const { code, out } = await sluice([...args, "--json"], { input });
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ sluiceReplay: 1, isHashed: true, requests: { total: 2_000 } });
    expect(report.log).toMatchObject({ malformed: 1, malformedLines: [{ line: 2_001 }] });
    expect(report.byKey[0].key).toMatch(/^hmac:[0-9a-f]{16}$/);
    const text = await sluice(args, { input });
    // As a table, as JSON and as a page.
    for (const each of [text.out + text.err, out, readFileSync(page, "utf8")]) {
      expect(each).toContain(report.log.malformedLines[0].why);
      expect(each).not.toMatch(/10\.0\.0\.|2001:db8|zoe/);
    }
  });

  it("prints nothing that moves the cursor or turns text around, whatever clients are called", async () => {
    const user = "ada\u001b[2J\u009b2J\u202e<script>__proto__";
    const line = JSON.stringify({ time: NOON, ip: "10.0.0.1", method: "GET", path: "/", user });
    const path = write("hostile.json", `${`${line}\n`.repeat(3)}garbage \u009b2J\u202e\n`);
    const byUser = write(
      "by-user.yaml",
      "version: 1\nrules: [{ id: u, key: user, limit: 1/hour }]\n",
    );
    const text = await sluice(["replay", path, "--rules", byUser]);
    const json = await sluice(["replay", path, "--rules", byUser, "--json"]);
    const suggested = await sluice(["suggest", path, "--by", "user", "--json"]);
    for (const { out, err } of [text, json, suggested])
      expect((out + err).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
    const key = "user:ada%1B[2J%C2%9B2J%E2%80%AE<script>__proto__";
    expect(JSON.parse(json.out)).toMatchObject({
      byKey: [{ key, refused: 2 }],
      log: { malformedLines: [{ text: "garbage \u009b2J\u202e" }] },
    });
    expect(text.out).toContain(key);
    expect(text.out).toContain("garbage \ufffd2J\ufffd");
  });

  it("writes a page beside what it prints", async () => {
    const page = join(folder, "report.html");
    const { out, err } = await sluice(["replay", log, "--rules", rules, "--html", page]);
    expect(out).toContain("2,000 requests");
    expect(err).toContain(`wrote ${page}\n`);
    expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>[\s\S]*<svg /);
  });

  it("reads JSON lines by a field map", async () => {
    const json = write("log.json", linesOf("json"));
    const { err, out } = await sluice(["replay", json, "--rules", rules, "--fields", JSON_FIELDS]);
    expect(err).toBe(`${json}: JSON lines\n`);
    expect(out).toMatch(/^2,000 requests of 100 callers/);
  });

  it("shows its progress only where a person looks", async () => {
    const seen = await sluice(["replay", log, "--rules", rules], { isErrorTty: true });
    expect(seen.err).toMatch(/\r\[#+\] 100% {2}0\.\d of 0\.\d MB\n/);
  });

  it("counts what it read of a pipe, whose end is not known", async () => {
    const { err } = await sluice(["replay", "-", "--rules", rules], {
      input: linesOf("combined"),
      isErrorTty: true,
    });
    expect(err).toMatch(/\r0\.\d MB read\n$/);
  });

  it("ends with 2 and one line of its own if a log can't be read to its end", async () => {
    for (const verb of [
      ["replay", "-", "--rules", rules],
      ["suggest", "-", "--by", "ip"],
    ]) {
      const { code, out, err } = await sluice(verb, { input: failing(), isErrorTty: true });
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toMatch(/MB read\nsluice: standard input: EIO\n$/);
    }
  });

  it("fails where nothing can be read, after it has printed why", async () => {
    const wrong = await sluice(["replay", log, "--rules", rules, "--format", "json"]);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("no line of the logs could be read");
    expect(wrong.out).toContain("2,001 of 2,001 lines malformed; the first:\n");
    const damaged = write("damaged.gz", Buffer.from([0x1f, 0x8b, 0, 0, 0, 0]));
    expect(await sluice(["replay", damaged, "--rules", rules])).toMatchObject({
      code: 1,
      out: expect.stringContaining("damaged.gz is damaged or cut off"),
    });
    expect((await sluice(["replay", write("none", ""), "--rules", rules])).code).toBe(0);
  });

  it("knows that a page can't be written before it reads logs, and overwrites none of them", async () => {
    for (const [page, message] of [
      [join(folder, "no", "report.html"), /report\.html can't be written: ENOENT/],
      [log, /would overwrite a file that is read/],
      [join(folder, ".", "rules.yaml"), /would overwrite a file that is read/],
    ] as const) {
      const args = ["replay", log, "--rules", rules, "--html", page];
      const { code, out, err } = await sluice(args, { isErrorTty: true });
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toMatch(message);
      expect(err).not.toContain("100%");
    }
    expect(readFileSync(log, "utf8")).toContain("garbage");
  });

  it("leaves no empty page behind when it fails, and an earlier page as it is", async () => {
    const [fresh, earlier] = [join(folder, "fresh.html"), write("earlier.html", "earlier")];
    for (const page of [fresh, earlier]) {
      const failed = await sluice(["replay", "-", "--rules", rules, "--html", page], {
        input: failing(),
      });
      expect(failed.code).toBe(2);
    }
    expect(existsSync(fresh)).toBe(false);
    expect(readFileSync(earlier, "utf8")).toBe("earlier");
  });

  it.each([
    [["none.log"], 2, /none\.log: no such file/],
    [[log, "--format", "apache"], 2, /--format must be one of combined, .* got "apache"/],
    [[log, "--fields", "ipp=x"], 2, /--fields: unknown fact "ipp"; did you mean ip\?/],
    [[log, "--fields", "ip=x", "--format", "alb"], 2, /--fields is for JSON lines/],
    [[log, "--trusted-proxies", "10.0.0.0/99"], 2, /--trusted-proxies: .*10\.0\.0\.0\/99/],
    [[log, "--reorder", "2d"], 2, /--reorder must be a duration up to 1h/],
    [[log, "--keys-max", "0"], 2, /--keys-max must be a whole number/],
    [["-", "-"], 2, /standard input\) can be named only once/],
    [["-", "--rules", "-"], 2, /standard input\) can be named only once/],
    [[log, "--rules", "-", "--against", "-"], 2, /standard input\) can be named only once/],
  ])("ends with one line about what is wrong: %j", async (args, exit, message) => {
    const { code, out, err } = await sluice(["replay", "--rules", rules, ...(args as string[])]);
    expect({ code, out }).toEqual({ code: exit, out: "" });
    expect(err).toMatch(message as RegExp);
  });

  it("exits with 1 and every problem if the rules are invalid, and with 2 if they are not there", async () => {
    const bad = write("bad.yaml", "version: 1\nrules: [{ id: a, limt: 1/second }]\n");
    const invalid = await sluice(["replay", log, "--rules", bad]);
    expect(invalid).toMatchObject({ code: 1, out: "" });
    expect(invalid.err).toMatch(/bad\.yaml:2:\d+: rule "a": .*limt/);
    expect((await sluice(["replay", log, "--rules", join(folder, "no.yaml")])).code).toBe(2);
    expect((await sluice(["replay", log])).code).toBe(2);
  });
});

describe("sluice suggest", () => {
  it("prints a rule file with reasons, and a plot on standard error", async () => {
    const { code, out, err } = await sluice([
      "suggest",
      log,
      "--by",
      "ip",
      "--refuse-at-most",
      "1%",
    ]);
    expect(code).toBe(0);
    expect(parseRules(out).rules).toMatchObject([{ id: "per-ip" }]);
    expect(out).toMatch(
      /# (?:No caller ever|\d+ of 100 callers never) had more than \d+ requests counted in 1 second/,
    );
    expect(err).toMatch(/in 1 minute +50% +\d+ +█+/);
    expect(err).toMatch(/limit +\d+ +▲/);
    expect(err).toContain("1 of 2,001 lines malformed");
  });

  it("says which share lets a limit refuse a caller if the given one is too small", async () => {
    const suggest = (share: string) =>
      sluice(["suggest", log, "--by", "ip", "--refuse-at-most", share]);
    const { err, out } = await suggest("3.9%");
    expect(err).toContain(
      "3.9% of 100 callers, divided among 4 windows, is less than one caller, so the busiest one sets every limit; --refuse-at-most 4% lets each limit refuse one\n",
    );
    expect(out).not.toContain("callers never had");
    for (const share of ["4%", "0"]) expect((await suggest(share)).err).not.toContain("divided");
    expect((await suggest("4%")).out).toContain("# 99 of 100 callers never had");
  });

  it.each([50, 80, 200])("draws a plot to scale on a terminal of %d columns", async (columns) => {
    const { err } = await sluice(["suggest", log, "--by", "ip"], { columns });
    const rows = [...err.matchAll(/ ([\d,]+) +(█+)$/gm)].map(([line, number, bar]) => ({
      width: line.length,
      requests: Number(number?.replaceAll(",", "")),
      length: bar?.length,
    }));
    // Four windows, each with the median, 90%, 99%, 99.9% and the busiest.
    expect(rows).toHaveLength(20);
    const most = Math.max(...rows.map(({ requests }) => requests));
    const longest = Math.min(40, columns - 34);
    for (const { width, requests, length } of rows) {
      expect(length).toBe(Math.round((longest * Math.log10(requests + 1)) / Math.log10(most + 1)));
      expect(width).toBeLessThanOrEqual(columns);
    }
    expect(err.match(/ limit +[\d,]+ +▲$/gm)).toHaveLength(4);
  });

  it("turns off limits for a longer time than the log covers, and says so", async () => {
    const { out } = await sluice(["suggest", log, "--by", "ip"]);
    // The log covers 39 seconds.
    const [rule] = parseRules(out).rules;
    expect(rule?.limits.map((limit) => "windowMs" in limit && limit.windowMs)).toEqual([
      1_000, 10_000,
    ]);
    expect(out).toContain(
      "# The log covers only 39 seconds, so callers may need more in 1 hour.\n",
    );
    expect(out).toMatch(/\n {6}# - slidingWindowCounter: \{ limit: \d+, windowMs: 1h \}\n/);
    const all = out.replace(/# (- slidingWindowCounter)/g, "$1");
    expect(parseRules(all).rules[0]?.limits).toHaveLength(4);
  });

  it("prints the distribution as JSON", async () => {
    const { out } = await sluice(["suggest", log, "--by", "ip", "--path", "/login", "--json"]);
    const { by, suggestion, counted } = JSON.parse(out);
    expect(by).toEqual(["ip"]);
    expect(counted).toBe(requests.filter(({ path }) => path === "/login").length);
    expect(suggestion.windows).toHaveLength(4);
  });

  it.each([
    [["--by", "ips"], 2, /^sluice: --by must be one of .*, got "ips"; did you mean ip\?\n$/],
    [["--by", "ip,ip"], 2, /^sluice: --by names ip twice\n$/],
    [
      ["--by", "ip", "--path", "login"],
      2,
      /^sluice: --path must be a string that starts with \/, got "login"\n$/,
    ],
    [["--by", "ip", "--refuse-at-most", "200%"], 2, /--refuse-at-most must be a share/],
    [["--by", "ip", "--refuse-at-most", "some"], 2, /got "some"/],
    [["--by", "tenant"], 1, /nothing can be counted by tenant: lines of this log name no tenant/],
    [
      ["--by", "ip", "--path", "/none"],
      1,
      /no request to \/none has a value for ip: 2,000 requests are to other paths/,
    ],
    [
      ["--by", "ip", "--format", "json"],
      1,
      /2,001 of 2,001 lines malformed[\s\S]*no line of the logs could be read/,
    ],
  ])("says why it can't: %j", async (args, exit, message) => {
    const { code, out, err } = await sluice(["suggest", log, ...(args as string[])]);
    expect({ code, out }).toEqual({ code: exit, out: "" });
    expect(err).toMatch(message as RegExp);
  });
});
