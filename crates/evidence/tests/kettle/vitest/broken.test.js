import { it } from "vitest";

import "./missing.js";

it("imports", () => {});
