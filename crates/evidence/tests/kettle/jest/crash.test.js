it("was well before", () => {
  expect(1).toBe(1);
});

it("explodes", () => {
  process.exit(0);
});

it("comes after", () => {
  expect(1).toBe(1);
});
