const assert = require("node:assert");

const { Kettle } = require("./kettle.js");

let attempts = 0;

describe("kettle", () => {
  it("boils", () => {
    assert.strictEqual(new Kettle().boil(), 100);
  });

  it("overflows", () => {
    assert.strictEqual(new Kettle().boil(), 120);
  });

  it.skip("descales", () => {
    assert.strictEqual(true, false);
  });

  it("whistles", function () {
    this.retries(2);
    attempts += 1;
    assert.strictEqual(attempts, 2);
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

  describe("pours", () => {
    it("the first cup", () => {
      assert.strictEqual(new Kettle().cool(), 20);
    });

    it("the second cup", () => {
      assert.strictEqual(new Kettle().cool(), 20);
    });
  });

  it("sings");

  it("hangs", async function () {
    this.timeout(200);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  });

  describe("socket", () => {
    before(() => {
      throw new Error("no power");
    });

    it("plugs in", () => {});
  });
});

it("cools", () => {
  assert.strictEqual(new Kettle().cool(), 20);
});
