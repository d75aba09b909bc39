const { Kettle } = require("./kettle.js");

jest.retryTimes(2, { logErrorsBeforeRetry: true });

let attempts = 0;

describe("kettle", () => {
  it("boils", () => {
    expect(new Kettle().boil()).toBe(100);
  });

  it("overflows", () => {
    expect(new Kettle().boil()).toBe(120);
  });

  it.skip("descales", () => {
    expect(true).toBe(false);
  });

  it("whistles", () => {
    attempts += 1;
    expect(attempts).toBe(2);
  });

  it.each([80, 100])("heats to %i degrees", (celsius) => {
    expect(new Kettle(celsius).celsius).toBe(celsius);
  });

  it.each([80, 100])("leaks at %i degrees", (celsius) => {
    expect(celsius).toBe(80);
  });

  describe("pours", () => {
    it("the first cup", () => {
      expect(new Kettle().cool()).toBe(20);
    });

    it("the second cup", () => {
      expect(new Kettle().cool()).toBe(20);
    });
  });

  it.todo("sings");

  it("hangs", async () => {
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }, 200);

  describe("socket", () => {
    beforeAll(() => {
      throw new Error("no power");
    });

    it("plugs in", () => {});
  });
});

test("cools", () => {
  expect(new Kettle().cool()).toBe(20);
});
