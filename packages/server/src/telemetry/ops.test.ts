import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createTelemetry } from "./create-telemetry.js";
import { METRICS } from "./metrics/metric-definitions.js";

const read = (path: string) =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[];
  };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
  readonly labels: { readonly severity: string };
}

const dashboard = JSON.parse(read("ops/grafana/sluice.json")) as Dashboard;
const alerts = (
  parse(read("ops/prometheus/alerts.yaml")) as { groups: { rules: Alert[] }[] }
).groups.flatMap(({ rules }) => rules);
const guide = read("docs/guides/operations.md");
const reference = read("docs/reference/metrics.md");

/** Labels by name of a series, those of histograms under their three names. */
async function knownSeries(): Promise<ReadonlyMap<string, readonly string[]>> {
  const telemetry = createTelemetry({
    logLevel: "silent",
    decisionLogShare: 0,
    region: "local",
    topKeysMax: 1,
  });
  const ofProcess = ((await telemetry.metricValues()) as { name: string }[])
    .filter(({ name }) => /^(?:process|nodejs)_/.test(name))
    .map(({ name }): [string, string[]] => [name, ["region", "instance"]]);
  // Prometheus adds the instance to everything.
  const own = Object.values(METRICS).flatMap(({ name, type, labels }): [string, string[]][] => {
    const all = [...labels, "region", "instance"];
    if (type !== "histogram") return [[name, all]];
    return [
      [`${name}_bucket`, [...all, "le"]],
      [`${name}_sum`, all],
      [`${name}_count`, all],
    ];
  });
  return new Map([...own, ...ofProcess]);
}

const WORDS = new Set(
  "by without sum max min count rate increase histogram_quantile topk absent unless or and label_values".split(
    " ",
  ),
);

/** What an expression names and the service does not have: metrics, or labels of one. */
function strangersIn(expr: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const bare = expr.replace(/"[^"]*"/g, '""').replace(/\[[^\]]*\]/g, "");
  const series = [...bare.matchAll(/\b([a-z_]\w*)\b(?:\{([^}]*)\})?/gi)].filter(([, name]) =>
    known.has(name),
  );
  const labels = new Set(series.flatMap(([, name]) => known.get(name) ?? []));
  const selected = series.flatMap(([, name, selectors = ""]) =>
    [...selectors.matchAll(/(\w+)\s*(?:=|!)/g)]
      .map(([, label]) => label)
      .filter((label) => !known.get(name)?.includes(label)),
  );
  const outside = bare.replace(/\{[^}]*\}/g, "");
  const named = [...outside.matchAll(/[a-z_]\w*/gi)].map(([name]) => name);
  const strange = named.filter(
    (name) => !known.has(name) && !WORDS.has(name) && !labels.has(name) && !/^e?\d/.test(name),
  );
  return [...selected, ...strange, ...(series.length === 0 ? [`nothing in ${expr}`] : [])];
}

describe("the check of expressions", () => {
  it("finds metrics, labels and functions that don't exist", async () => {
    const known = await knownSeries();
    expect(strangersIn("sum(rate(rate_limiter_allowed_totl[5m]))", known)).toContain(
      "rate_limiter_allowed_totl",
    );
    expect(strangersIn('rate_limiter_allowed_total{tenant="a"}', known)).toEqual(["tenant"]);
    expect(strangersIn("sum by (user) (rate_limiter_allowed_total)", known)).toEqual(["user"]);
    expect(strangersIn("rate_limiter_decision_seconds{}", known)).not.toEqual([]);
    expect(strangersIn("http_429_total{le='1'}", known)).toEqual(["le"]);
  });
});

describe("the dashboard", () => {
  it("names only metrics and labels that exist", async () => {
    const known = await knownSeries();
    const exprs = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...dashboard.annotations.list.map(({ expr }) => expr),
      ...dashboard.templating.list
        .map(({ query }) => query)
        .filter((query) => query.startsWith("label_values")),
    ];
    expect(exprs.length).toBeGreaterThan(40);
    for (const expr of exprs) {
      expect([expr, strangersIn(expr.replaceAll(/\$\w+/g, ""), known)]).toEqual([expr, []]);
    }
  });

  it("shows every metric of the service somewhere", () => {
    const text = JSON.stringify(dashboard);
    for (const { name } of Object.values(METRICS)) expect(text).toContain(name);
  });

  it("uses only variables that it has, explains every panel, and lays none over another", () => {
    const variables = new Set([
      ...dashboard.templating.list.map(({ name }) => name),
      "__rate_interval",
    ]);
    for (const [, name] of JSON.stringify(dashboard.panels).matchAll(/\$\{?(\w+)/g)) {
      expect(variables).toContain(name);
    }
    const taken = new Set<string>();
    for (const { title, type, description, gridPos } of dashboard.panels) {
      expect([title, type === "row" || (description ?? "") !== ""]).toEqual([title, true]);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(x).toBeLessThan(24);
          expect([title, taken.has(`${x} ${y}`)]).toEqual([title, false]);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

describe("the alerts", () => {
  it("name only metrics and labels that exist", async () => {
    const known = await knownSeries();
    for (const { alert, expr } of alerts) {
      expect([alert, strangersIn(expr, known)]).toEqual([alert, []]);
    }
  });

  it("have a summary, a severity and a runbook, and the guide has no runbook beside them", () => {
    for (const { alert, annotations, labels } of alerts) {
      expect([alert, annotations.summary.length > 20]).toEqual([alert, true]);
      expect(["info", "warning", "critical"]).toContain(labels.severity);
      expect(annotations.runbook_url).toBe(`docs/guides/operations.md#${alert.toLowerCase()}`);
    }
    const runbooks = [...guide.matchAll(/^### (\w+)\n\n(?=\S)/gm)].map(([, name]) => name);
    expect(runbooks).toEqual(alerts.map(({ alert }) => alert));
  });

  it("use in their texts only labels that their expression keeps", () => {
    for (const { alert, expr, annotations } of alerts) {
      const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list.split(/,\s*/));
      for (const [, label] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
        expect([alert, kept]).toEqual([alert, expect.arrayContaining([label])]);
      }
    }
  });
});

describe("the documentation", () => {
  const names = readdirSync(new URL("../../../../docs/", import.meta.url), { recursive: true });
  const pages = [
    "README.md",
    ...names.filter((name) => String(name).endsWith(".md")).map((name) => `docs/${name}`),
  ].map((path) => ({ path, text: read(path) }));

  it("names only metrics that exist", async () => {
    const known = await knownSeries();
    const metrics = new Set([...known.keys(), ...Object.values(METRICS).map(({ name }) => name)]);
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\brate_limiter_\w+/g)].map(([name]) => ({ path, name })),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ name }) => !metrics.has(name))).toEqual([]);
  });

  it("has queries and samples whose metrics and labels exist", async () => {
    const known = await knownSeries();
    const blocks = pages.flatMap(({ text }) =>
      [...text.matchAll(/^```promql\n([\s\S]*?)^```/gm)].map(([, block]) => block),
    );
    const samples = pages.flatMap(
      ({ text }) => text.match(/^rate_limiter_\w+\{.*\}(?= \d)/gm) ?? [],
    );
    expect([blocks.length, samples.length]).toEqual([1, 2]);
    for (const expr of [...blocks, ...samples]) {
      expect([expr, strangersIn(expr, known)]).toEqual([expr, []]);
      for (const pair of ["()", "{}", "[]"]) {
        expect(expr.split(pair[0]).length).toBe(expr.split(pair[1]).length);
      }
    }
  });

  it("has Prometheus scrape the admin port, with a token, and load the alerts", () => {
    const [, block = ""] = /^```yaml\n(scrape_configs:[\s\S]*?)^```/m.exec(guide) ?? [];
    expect(parse(block)).toMatchObject({
      scrape_configs: [
        {
          job_name: "sluice",
          authorization: { credentials_file: expect.any(String) },
          static_configs: [{ targets: [expect.stringMatching(/:9090$/)] }],
        },
      ],
      rule_files: ["alerts.yaml"],
    });
  });
});

describe("metrics as they are scraped", () => {
  /** What `promtool check metrics` finds wrong with a metric, by its name and type. */
  function lint(name: string, type: string, help: string): string[] {
    const isCounter = type === "counter";
    const parts = name.split("_");
    return [
      help === "" ? "no help text" : "",
      isCounter && !name.endsWith("_total") ? "counter without _total" : "",
      !isCounter && name.endsWith("_total") ? "_total on what is not a counter" : "",
      /_(?:count|sum|bucket)$/.test(name) ? "suffix of histograms" : "",
      /[A-Z:]/.test(name) ? "not snake case" : "",
      parts.some((part) => /^(?:counter|gauge|histogram|summary)$/.test(part))
        ? "type in name"
        : "",
      parts.some((part) => /^(?:ms|milliseconds|minutes|hours|days|kb|mb|kilobytes)$/.test(part))
        ? "not in base units"
        : "",
    ].filter((problem) => problem !== "");
  }

  it("have names, types and help that promtool check metrics has nothing to say about", async () => {
    const telemetry = createTelemetry({
      logLevel: "silent",
      decisionLogShare: 0,
      region: "local",
      topKeysMax: 1,
    });
    const text = await telemetry.metrics();
    const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, n, h]) => [n, h]));
    const types = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)];
    expect(types.length).toBeGreaterThan(40);
    const problems = types.flatMap(([, name, type]) =>
      lint(name, type, helps.get(name) ?? "").map((problem) => `${name}: ${problem}`),
    );
    expect(problems).toEqual([]);
    expect(new Set(types.map(([, name]) => name)).size).toBe(types.length);
  });

  it("are looked through by rules that find something", () => {
    expect(lint("nodejs_active_handles_total", "gauge", "Handles.")).toHaveLength(1);
    expect(lint("requests", "counter", "")).toHaveLength(2);
    expect(lint("wait_ms", "gauge", "Waiting.")).toHaveLength(1);
  });
});

describe("the reference of metrics", () => {
  it("lists every metric with its type, labels and help, and no other", () => {
    const rows = [...reference.matchAll(/^\| `(\w+_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$/gm)].map(
      ([, name, type, labels, help]) => ({
        name,
        type,
        labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
        help,
      }),
    );
    const defined = Object.values(METRICS).map(({ name, type, labels, help }) => {
      return { name, type, labels, help };
    });
    expect(rows).toEqual(defined);
  });

  it("explains every label, and no other", () => {
    const section = reference.slice(reference.indexOf("## Labels"));
    const explained = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, label]) => label);
    const used = new Set(Object.values(METRICS).flatMap(({ labels }): readonly string[] => labels));
    expect(new Set(explained)).toEqual(new Set([...used, "le"]));
  });
});
