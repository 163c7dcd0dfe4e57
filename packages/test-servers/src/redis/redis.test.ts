import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor, within } from "../clock.js";
import { makeFolder, RedisError, type RedisProcess, startRedis } from "../index.js";

describe("a single server", () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it("answers commands, with text, numbers, nothing and lists", async () => {
    expect(await redis.command("SET", "grüße", "a\r\nb")).toBe("OK");
    expect(await redis.command("GET", "grüße")).toBe("a\r\nb");
    expect(await redis.command("INCRBY", "n", 41)).toBe(41);
    expect(await redis.command("GET", "absent")).toBeNull();
    expect(await redis.command("MGET", "n", "absent")).toEqual(["41", null]);
  });

  it("throws what the server refuses, and goes on", async () => {
    const refused = redis.command("EVALSHA", "0".repeat(40), 0);
    await expect(refused).rejects.toBeInstanceOf(RedisError);
    await expect(refused).rejects.toMatchObject({ code: "NOSCRIPT" });
    expect(await redis.command("PING")).toBe("PONG");
  });

  it("matches replies to commands that are sent at the same time", async () => {
    const sent = Array.from({ length: 500 }, (_, i) => redis.command("ECHO", i));
    expect(await Promise.all(sent)).toEqual(sent.map((_, i) => String(i)));
  });

  it("listens on loopback, without persistence, under its own process id", async () => {
    const info = await redis.info("server");
    expect(Number(info.process_id)).toBe(redis.pid);
    expect(Number(info.tcp_port)).toBe(redis.port);
    expect(await redis.command("CONFIG", "GET", "save")).toEqual(["save", ""]);
    expect(await redis.command("CONFIG", "GET", "appendonly")).toEqual(["appendonly", "no"]);
    expect(await redis.command("CONFIG", "GET", "bind")).toEqual(["bind", "127.0.0.1"]);
  });

  it("comes back on its port after a kill, empty", async () => {
    await redis.command("SET", "key", 1);
    const { pid, port } = redis;
    await redis.kill();
    expect(redis.isRunning).toBe(false);
    await expect(redis.command("PING")).rejects.toThrow("ECONNREFUSED");
    await redis.restart();
    expect(redis.pid).not.toBe(pid);
    expect(redis.port).toBe(port);
    expect(await redis.command("DBSIZE")).toBe(0);
  });

  it("answers nothing while it is paused, and all of it afterwards", async () => {
    redis.pause();
    const answer = redis.command("PING");
    await expect(within(100, "PING", answer)).rejects.toThrow("no answer within 100 ms");
    redis.resume();
    expect(await answer).toBe("PONG");
  });

  it("opens its own connection again when the server cut it", async () => {
    await redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no").catch(() => {});
    // The cut may still be on its way when the next command is sent: that one may fail, once.
    await redis.command("PING").catch(() => {});
    expect(await redis.command("PING")).toBe("PONG");
  });
});

describe("starting and stopping", () => {
  it("keeps what was written over a restart, with persistence on", async () => {
    const redis = await startRedis({ args: { appendonly: "yes", appendfsync: "always" } });
    await redis.command("SET", "key", "kept");
    await redis.restart();
    expect(await redis.command("GET", "key")).toBe("kept");
    await redis.kill();
    await redis.restart();
    expect(await redis.command("GET", "key")).toBe("kept");
    await redis.stop();
  });

  it("stops a paused server, removes its folder, and may be stopped twice", async () => {
    const redis = await startRedis({ args: { maxmemory: "10mb" } });
    const [, folder] = (await redis.command("CONFIG", "GET", "dir")) as string[];
    expect(await redis.command("CONFIG", "GET", "maxmemory")).toEqual(["maxmemory", "10485760"]);
    expect(existsSync(folder)).toBe(true);
    redis.pause();
    await redis.stop();
    expect(existsSync(folder)).toBe(false);
    expect(await isListening(redis.port)).toBe(false);
    await redis.stop();
  });

  it("says what the server said when it does not start", async () => {
    const started = startRedis({ args: { "no-such-setting": "yes" } });
    await expect(started).rejects.toThrow(/ended while it started[\s\S]*no-such-setting/);
    await expect(startRedis({ binary: "no-such-server" })).rejects.toThrow("no-such-server");
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "ends with its owner when %s ends that",
    async (name) => {
      const owner = await startOwner(" setInterval(() => {}, 1000);");
      expect(await isListening(owner.serverPort)).toBe(true);
      owner.process.kill(name);
      await owner.exited;
      await endOf(owner.serverPort);
      // Nothing can clean up after SIGKILL; every other end leaves nothing behind.
      expect(readdirSync(owner.folder)).toHaveLength(name === "SIGKILL" ? 1 : 0);
    },
  );

  it("does not keep its owner from ending, and ends with it", async () => {
    const owner = await startOwner("");
    await owner.exited;
    await endOf(owner.serverPort);
    expect(readdirSync(owner.folder)).toEqual([]);
  });

  it("gives each of many servers started at the same time a port of its own", async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => startRedis()));
    expect(new Set(servers.map(({ port }) => port)).size).toBe(4);
    await Promise.all(servers.map((server) => server.stop()));
    const listening = await Promise.all(servers.map(({ port }) => isListening(port)));
    expect(listening).toEqual([false, false, false, false]);
  });
});

/** Another process that starts a server and then does what `more` says, with its own temp folder. */
async function startOwner(more: string) {
  const folder = makeFolder("owner");
  // It runs what was built: the package by its name, as its users see it.
  const start = 'import { startRedis } from "sluice-test-servers";';
  const code = `${start} console.log((await startRedis()).port);${more}`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", code], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(owner, "exit");
  const [line] = await once(owner.stdout, "data");
  return { process: owner, exited, folder, serverPort: Number(line) };
}

async function endOf(port: number): Promise<void> {
  await waitFor("the end of the server", 3000, async () => !(await isListening(port)) || undefined);
}

// Asked by its port and not by its process id: an orphan that ended keeps its id for a while.
function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return once(socket, "connect")
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
