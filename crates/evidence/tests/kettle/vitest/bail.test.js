import { expect, it } from "vitest";

it("fails first", () => {
  expect(1).toBe(2);
});

it("never comes", () => {
  expect(1).toBe(1);
});
