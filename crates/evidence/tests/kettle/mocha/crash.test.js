it("was well before", () => {
  void 1;
});

it("explodes", () => {
  process.exit(0);
});

it("comes after", () => {
  void 1;
});
