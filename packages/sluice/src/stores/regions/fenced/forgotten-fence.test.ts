import { expect, it } from "vitest";
import { HomeRig, settled } from "../../../../test/home-rig.js";

it("an old home whose store forgot the fence is fenced again by the next process that looks", async () => {
  const rig = new HomeRig();
  await settled();
  const { eu } = rig.servers;
  const { text: asHome } = eu.read(rig.clock.now());
  await rig.homes[0].promote("us");
  const fenced = eu.read(rig.clock.now()).text;
  // A failover to a replica that did not get the fence, or a restart from an older snapshot.
  eu.swap({ expected: fenced, next: asHome, nowMs: rig.clock.now() });
  expect(rig.deciding()).toEqual(["eu"]);
  await rig.pass(1_000);
  expect(rig.deciding()).toEqual([]);
  expect(eu.read(rig.clock.now()).text).toBe(fenced);
  await rig.pass(5_000);
  expect(rig.deciding()).toEqual(["us"]);
  rig.close();
});
