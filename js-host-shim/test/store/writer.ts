// One process among many that write to a store: takes runs from start to end once it is told to go,
// and says how many.
import { readFileSync } from "node:fs";
import { openStore } from "wfcore-host-shim";
import { cycle } from "./temp.ts";

const [path = "", name = "", runs = "0"] = process.argv.slice(2);
const store = openStore({ path, wait: 10_000 });
console.log("ready");
readFileSync(0); // stdin ends: go
for (let n = 0; n < Number(runs); n++) {
	cycle(store, `${name}-${n}`);
}
store.close();
console.log("done", runs);
