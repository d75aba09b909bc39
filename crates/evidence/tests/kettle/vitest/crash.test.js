import { expect, it } from "vitest";

it("was well before", () => {
  expect(1).toBe(1);
});

it("explodes", async () => {
  process.kill(process.pid, "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});

it("comes after", () => {
  expect(1).toBe(1);
});
