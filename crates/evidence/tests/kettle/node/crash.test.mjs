import { it } from "node:test";

it("was well before", () => {});

it("explodes", () => {
  process.kill(process.pid, "SIGKILL");
});

it("comes after", () => {});
