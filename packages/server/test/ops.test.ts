import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureProgram, makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { ASK_MS_MAX, END_MS_MAX } from "../src/workers/channel/control-messages.js";
import { sluice } from "./cli/fake-terminal.js";

const root = join(import.meta.dirname, "../../..");
const readText = (path: string) => readFileSync(join(root, path), "utf8");
const work = makeFolder("ops");

const CONFIG_PATH = "/etc/sluice/sluice.yaml";

describe("ops/sluice.yaml", () => {
  it("is a configuration that starts, with nothing set in the environment", async () => {
    const file = join(root, "ops/sluice.yaml");
    const { code, out, err } = await sluice(["serve", "--check", "--config", file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("gateway, 1 upstream, admin, 1 rule");
  });

  it("takes its upstream from the environment", async () => {
    const file = join(root, "ops/sluice.yaml");
    const env = { UPSTREAM_URL: "nonsense" };
    const { code, err } = await sluice(["serve", "--check", "--config", file], { env });
    expect(code).toBe(1);
    expect(err).toContain("upstreams.app.backends");
  });
});

describe("ops/Dockerfile", () => {
  const lines = readText("ops/Dockerfile").replaceAll("\\\n", " ").split("\n");
  const valuesOf = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const copied = valuesOf("COPY").flatMap((text) => {
    const parts = text.split(" ");
    return parts[0].startsWith("--from") ? [] : parts.slice(0, -1);
  });

  it("copies only what a clone has, and its ignore file lets all of it through", () => {
    expect(copied).not.toEqual([]);
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const kept = readText("ops/Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const isKept = (path: string) => kept.some((one) => path === one || path.startsWith(`${one}/`));
    expect(copied.filter((path) => !isKept(path))).toEqual([]);
    expect(kept.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("installs for every package of the workspace, which npm ci asks for", () => {
    const manifests = readdirSync(join(root, "packages")).map(
      (name) => `packages/${name}/package.json`,
    );
    expect(copied).toEqual(expect.arrayContaining(manifests));
  });

  it("builds as npm run build does, with scripts that were copied before", () => {
    const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
    const build = valuesOf("RUN").find((text) => text.includes("tsc")) ?? "";
    expect(build).toBe(`${scripts.lua} && npx tsc -b packages/server`);
    expect(valuesOf("RUN")).toContain("npm run dashboard");
    expect(scripts.build).toContain("npm run -s dashboard");
    const needed = [...build.matchAll(/node (\S+\.mjs)/g)].map(([, path]) => path);
    expect(copied).toEqual(expect.arrayContaining(needed));
  });

  it("takes out of the build what the packages publish", () => {
    const taken = valuesOf("COPY")
      .filter((text) => text.startsWith("--from=build "))
      .map((text) => text.split(" ")[1]);
    for (const name of ["sluice", "http1", "server"]) {
      const { files, bin } = JSON.parse(readText(`packages/${name}/package.json`)) as {
        files: string[];
        bin?: object;
      };
      const folders = ["package.json", "dist", ...(bin === undefined ? [] : ["bin"])];
      expect(files.join()).toContain("dist/");
      expect(taken).toEqual(
        expect.arrayContaining(folders.map((part) => `/app/packages/${name}/${part}`)),
      );
    }
    expect(taken).toContain("/app/packages/server/dashboard");
  });

  it("starts the bin of the package, as a user that is not root, under a healthcheck", () => {
    const { bin } = JSON.parse(readText("packages/server/package.json")) as {
      bin: { sluice: string };
    };
    const [entry] = valuesOf("ENTRYPOINT").map((text) => JSON.parse(text) as string[]);
    expect(entry.at(-1)).toBe(join("/app/packages/server", bin.sluice));
    const [command] = valuesOf("CMD").map((text) => JSON.parse(text) as string[]);
    expect(command).toEqual(["serve", "--config", CONFIG_PATH]);
    expect(readText("ops/Dockerfile")).toContain(`COPY ops/sluice.yaml ${CONFIG_PATH}`);
    expect(valuesOf("USER")).toEqual(["node"]);
    expect(valuesOf("HEALTHCHECK")[0]).toContain("http://127.0.0.1:9090/livez");
  });
});

describe("ops/systemd/sluice.service", () => {
  const unit = readText("ops/systemd/sluice.service");

  /** What systemd says of a unit; of others, which it looks at too, nothing. */
  function verify(text: string): string[] {
    const file = join(work, "sluice.service");
    writeFileSync(file, text);
    const program = ensureProgram("systemd-analyze", "systemd");
    const { stdout, stderr } = spawnSync(program, ["verify", "--man=no", file], {
      encoding: "utf8",
    });
    return `${stdout}${stderr}`.split("\n").filter((line) => line.includes("sluice.service"));
  }

  it("is a unit that systemd-analyze verify has nothing to say about", () => {
    expect(verify(unit)).toEqual([]);
    const misspelt = unit.replace("TimeoutStopSec", "TimeoutStopSecs");
    expect(verify(misspelt).join()).toContain("TimeoutStopSecs");
  }, 300_000);

  it("checks the configuration before it starts, reloads by SIGHUP, and waits for the drain", () => {
    const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];
    expect(settingOf("ExecStartPre")).toBe(
      `/usr/bin/env sluice serve --check --config ${CONFIG_PATH}`,
    );
    expect(settingOf("ExecStart")).toBe(`/usr/bin/env sluice serve --config ${CONFIG_PATH}`);
    expect(settingOf("ExecReload")).toContain("-HUP");
    expect(settingOf("Restart")).toBe("on-failure");
    const { server } = parse(readText("ops/sluice.yaml")) as { server: { drainMs: string } };
    // Workers have so long to stop listening, to say that they are drained, and to end.
    const worstMs = Number.parseInt(server.drainMs, 10) * 1_000 + ASK_MS_MAX + 2 * END_MS_MAX;
    const stopMs = Number.parseInt(settingOf("TimeoutStopSec") ?? "", 10) * 1_000;
    expect(stopMs).toBeGreaterThan(worstMs);
  });
});

const ENVOY = { listen: "0.0.0.0:8081", files: ["/etc/sluice-envoy/shop.yaml"] };

describe("ops/helm/sluice", () => {
  const chart = "ops/helm/sluice";
  const values = parse(readText(`${chart}/values.yaml`)) as Record<string, unknown>;
  const templates = readdirSync(join(root, chart, "templates")).map((name) => ({
    name,
    text: readText(`${chart}/templates/${name}`),
  }));
  const all = templates.map(({ text }) => text).join("\n");

  it("has the version of the package", () => {
    const { version } = JSON.parse(readText("packages/server/package.json")) as { version: string };
    expect(parse(readText(`${chart}/Chart.yaml`))).toMatchObject({
      apiVersion: "v2",
      name: "sluice",
      appVersion: version,
    });
  });

  it("uses only values that exist, and all of them", () => {
    const used = [...all.matchAll(/\.Values\.([\w.]+)/g)].map((match) => match[1].split("."));
    const valueAt = (path: readonly string[]) =>
      path.reduce<unknown>(
        (at, part) => (at as Record<string, unknown> | undefined)?.[part],
        values,
      );
    expect(used.filter((path) => valueAt(path) === undefined)).toEqual([]);
    const names = new Set(used.map(([name]) => name));
    expect(Object.keys(values).filter((name) => !names.has(name))).toEqual([]);
  });

  it("includes only templates that it defines, and closes every block", () => {
    const defined = new Set([...all.matchAll(/define "([^"]+)"/g)].map((match) => match[1]));
    const included = [...all.matchAll(/include "([^"]+)"/g)].map((match) => match[1]);
    expect(included.filter((name) => !defined.has(name))).toEqual([]);
    for (const { name, text } of templates) {
      const opened = text.match(/\{\{-? *(?:if|with|range|define)\b/g)?.length ?? 0;
      const closed = text.match(/\{\{-? *end\b/g)?.length ?? 0;
      expect({ name, closed }).toEqual({ name, closed: opened });
    }
  });

  it.each(templates.filter(({ name }) => name.endsWith(".yaml")))(
    "has YAML around the expressions of $name",
    ({ text }) => {
      const bare = text
        .replace(/^\s*\{\{[^}]*\}\}\n/gm, "")
        .replace(/"\{\{.*\}\}"/g, '"x"')
        .replace(/\{\{[^}]*\}\}/g, "x");
      for (const document of parseAllDocuments(bare)) {
        expect(document.errors).toEqual([]);
        expect(document.toJS()).toMatchObject({ kind: expect.any(String), metadata: {} });
      }
    },
  );

  it("has a configuration that starts, with the variables that the deployment sets", async () => {
    const fixed = { gateway: { listen: "0.0.0.0:8080" }, admin: { listen: "0.0.0.0:9090" } };
    for (const { listen } of Object.values(fixed)) expect(all).toContain(`"listen" "${listen}"`);
    expect(all).toContain('"rules" (dict "file" "rules.yaml")');
    const config = { ...(values.config as object), ...fixed, rules: { file: "rules.yaml" } };
    writeFileSync(join(work, "rules.yaml"), stringify(values.rules));
    writeFileSync(join(work, "sluice.yaml"), stringify(config));
    const env = {
      SLUICE_SERVER_DRAIN_DELAY_MS: String(Number(values.drainDelaySeconds) * 1_000),
      SLUICE_SERVER_DRAIN_MS: String(Number(values.drainSeconds) * 1_000),
      SLUICE_ADMIN_TOKEN: "0123456789abcdef",
      SLUICE_STORE_KIND: "memory",
    };
    const set = [...all.matchAll(/name: (SLUICE_\w+)/g)].map((match) => match[1]);
    expect(set).toEqual(expect.arrayContaining(Object.keys(env)));
    const args = ["serve", "--check", "--config", join(work, "sluice.yaml")];
    expect(await sluice(args, { env })).toMatchObject({ code: 0, err: "" });
    const shared = { SLUICE_STORE_KIND: "redis", SLUICE_STORE_URL: "redis://127.0.0.1:6379/0" };
    expect(await sluice(args, { env: { ...env, ...shared } })).toMatchObject({ code: 0, err: "" });
  });

  it.each([
    ["the decision API alone", { decision: { listen: "0.0.0.0:8082" } }],
    ["Envoy alone", { envoy: ENVOY }],
    [
      "every listener",
      {
        gateway: { listen: "0.0.0.0:8080" },
        decision: { listen: "0.0.0.0:8082" },
        envoy: { ...ENVOY, http: "0.0.0.0:8083" },
      },
    ],
  ])("has a configuration that starts with %s", async (_, listeners) => {
    const folder = makeFolder("ops-listeners");
    const base = "gateway" in listeners ? (values.config as object) : {};
    const admin = { listen: "0.0.0.0:9090" };
    const config = { ...base, ...listeners, admin, rules: { file: "rules.yaml" } };
    const limit = { unit: "minute", requests_per_unit: 60 };
    const file = { domain: "shop", descriptors: [{ key: "user", rate_limit: limit }] };
    writeFileSync(join(folder, "shop.yaml"), stringify(file));
    writeFileSync(join(folder, "rules.yaml"), stringify(values.rules));
    const text = stringify(config).replaceAll("/etc/sluice-envoy", folder);
    writeFileSync(join(folder, "sluice.yaml"), text);
    const decision = "0123456789abcdef,fedcba9876543210";
    const env = {
      SLUICE_ADMIN_TOKEN: "0123456789abcdef",
      ...("decision" in listeners ? { SLUICE_DECISION_TOKENS: decision } : {}),
    };
    const args = ["serve", "--check", "--config", join(folder, "sluice.yaml")];
    expect(await sluice(args, { env })).toMatchObject({ code: 0, err: "" });
  });

  it("has a port of the pods and of a service for every listener, and no other", () => {
    const named = (pattern: RegExp) => [...all.matchAll(pattern)].map(([, ...groups]) => groups);
    const listening = named(/"(?:listen|http)" "0\.0\.0\.0:(\d+)"/g).flat();
    const ofPods = named(/- name: ([\w-]+)\n\s+containerPort: (\d+)/g);
    expect(ofPods.map(([, port]) => port).sort()).toEqual([...listening].sort());
    const ofServices = named(/targetPort: ([\w-]+)/g).flat();
    expect(ofServices.sort()).toEqual(ofPods.map(([name]) => name).sort());
    // Kubernetes takes no longer ones.
    for (const [name] of ofPods) expect(name.length).toBeLessThanOrEqual(15);
  });

  it("shows the world the gateway only", () => {
    const services = templates.find(({ name }) => name === "service.yaml")?.text.split("---") ?? [];
    const open = services.filter((text) => text.includes(".Values.service.type"));
    expect(open).toHaveLength(1);
    expect(open[0].match(/targetPort: .*/g)).toEqual(["targetPort: http"]);
    expect(services.filter((text) => text.includes("type: ClusterIP"))).toHaveLength(2);
  });

  it("leaves the number of pods to the autoscaler where there is one", () => {
    expect(all).toMatch(
      /if not \.Values\.autoscaling\.enabled \}\}\n\s+replicas: .*\n\s+\{\{- end/,
    );
    expect(all).toMatch(/kind: HorizontalPodAutoscaler[\s\S]*kind: Deployment/);
    const { requests } = values.resources as { requests: object };
    // A share of what is requested is what it scales by.
    expect(requests).toHaveProperty("cpu");
    expect(all).toMatch(/if and \.Values\.podDisruptionBudget\.enabled .*sluice\.podsMin/);
  });

  it("scrapes the admin port, and only that, with its token", () => {
    const monitor = templates.find(({ name }) => name === "service-monitor.yaml")?.text ?? "";
    expect(monitor).toMatch(/- port: admin\n\s+path: \/metrics\n/);
    expect(monitor).toMatch(/name: \{\{ include "sluice.adminSecret" \. \}\}\n\s+key: token/);
    expect(all.match(/app\.kubernetes\.io\/component: admin/g)).toHaveLength(2);
  });

  it("probes health without a token, and gives pods longer to end than draining takes", () => {
    expect(all).toMatch(/livenessProbe:\s+httpGet:\s+path: \/livez\s+port: admin/);
    expect(all).toMatch(/readinessProbe:\s+httpGet:\s+path: \/readyz\s+port: admin/);
    expect(all).toContain(
      "terminationGracePeriodSeconds: {{ add .Values.drainDelaySeconds .Values.drainSeconds 20 }}",
    );
  });
});
