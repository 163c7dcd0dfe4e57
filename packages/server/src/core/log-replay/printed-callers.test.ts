import { memoryStore } from "sluice";
import { describe, expect, it } from "vitest";
import { toIpv4Text } from "../../access-logs/ipv4.js";
import { LogEntry } from "../../access-logs/log-entry.js";
import { PrintedCallers } from "./printed-callers.js";

const store = memoryStore({ seed: { low: 1, high: 2 } });

function callersOf() {
  return new PrintedCallers((key) => store.print(key), 64);
}

/** An entry as the reader of a log leaves it. */
function entryOf(address: { readonly ipv4?: number; readonly ip?: string }): LogEntry {
  return Object.assign(new LogEntry(), address);
}

describe("callers with prints", () => {
  it.each([
    [{ ipv4: 0 }, "0.0.0.0"],
    [{ ipv4: 0x0a000001 }, "10.0.0.1"],
    [{ ipv4: -1 }, "255.255.255.255"],
    [{ ip: "2001:DB8::1" }, "2001:db8::/64"],
    [{ ip: "::ffff:10.0.0.1" }, "10.0.0.1"],
  ])("have the key of their address: %j", (written, address) => {
    const key = `ip:${address}`;
    const callers = callersOf();
    for (const isNew of [true, false]) {
      const { low, high } = store.print(key);
      expect(callers.of(entryOf(written))).toMatchObject({ address, key, low, high, isNew });
    }
  });

  it("are those of addresses alone", () => {
    expect(callersOf().of(entryOf({ ip: "1:2:3" }))).toBeUndefined();
    expect(callersOf().of(entryOf({}))).toBeUndefined();
  });

  it("are found again after others took their places", () => {
    const callers = callersOf();
    // All of them meet in one set, which has room for four.
    const addresses = [0, 10_946, 61_495, 112_044, 162_593, 173_539, 213_142, 224_088];
    let displaced = 0;
    for (let at = 0; at < 200; at++) {
      const ipv4 = addresses[(at * at + (at >> 3)) % addresses.length] as number;
      const caller = callers.of(entryOf({ ipv4 }));
      const { low, high } = store.print(`ip:${toIpv4Text(ipv4)}`);
      expect(caller).toMatchObject({ address: toIpv4Text(ipv4), low, high });
      if (caller?.isNew === true) displaced++;
    }
    expect(displaced).toBeGreaterThan(addresses.length);
    expect(displaced).toBeLessThan(200);
  });
});
