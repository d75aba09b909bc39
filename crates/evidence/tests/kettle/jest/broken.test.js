require("./missing.js");

it("imports", () => {});
