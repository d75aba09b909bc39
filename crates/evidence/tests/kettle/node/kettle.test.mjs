import assert from "node:assert";
import { before, describe, it, test } from "node:test";

import { Kettle } from "./kettle.mjs";

describe("kettle", () => {
  it("boils", () => {
    assert.strictEqual(new Kettle().boil(), 100);
  });

  it("overflows", () => {
    assert.strictEqual(new Kettle().boil(), 120);
  });

  it.skip("descales", () => {
    assert.fail();
  });

  for (const celsius of [80, 100]) {
    it(`heats to ${celsius} degrees`, () => {
      assert.strictEqual(new Kettle(celsius).celsius, celsius);
    });
  }

  for (const celsius of [80, 100]) {
    it(`leaks at ${celsius} degrees`, () => {
      assert.strictEqual(celsius, 80);
    });
  }

  it("pours", async (t) => {
    await t.test("the first cup", () => {
      assert.strictEqual(new Kettle().cool(), 20);
    });
    await t.test("the second cup", () => {
      assert.strictEqual(new Kettle().cool(), 20);
    });
  });

  it("drips", async (t) => {
    for (const cup of ["first", "second"]) {
      await t.test(cup, () => {
        assert.strictEqual(cup, "first");
      });
    }
  });

  it("idles", async (t) => {
    await t.test("the first cup", { skip: true }, () => {});
    await t.test("the second cup", { skip: true }, () => {});
  });

  it.todo("sings", () => {
    assert.fail();
  });

  it("hangs", { timeout: 200 }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  });

  describe("socket", () => {
    before(() => {
      throw new Error("no power");
    });

    it("plugs in", () => {});
  });
});

test("cools", () => {
  assert.strictEqual(new Kettle().cool(), 20);
});
