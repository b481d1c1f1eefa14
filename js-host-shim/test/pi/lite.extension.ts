// The package pi-workflows-lite with points to kill it at, and with a short lease where it will be killed:
// the points of stop.ts, and `OP:before` and `OP:after` for each operation on its store, or `OP:nothing` after one that
// finds nothing.

import { dirname, join } from "node:path";
import { stopAt, stopping } from "./stop.ts";

export default async function (pi: any): Promise<void> {
	const index = process.env.WFTEST_LITE ?? "";
	const { default: lite } = await import(index);
	// The copy that the package itself uses.
	const { openStore } = await import(join(dirname(index), "../node_modules/wfcore-host-shim/dist/index.js"));
	const leaseMs = process.env.WFTEST_STOP_AT ? 1500 : 30_000;
	lite(stopping(pi), { openStore: (path: string) => stoppingStore(openStore({ path })), leaseMs, pollMs: 100 });
}

function stoppingStore(store: any): any {
	const around = (op: string, act: () => unknown) => {
		stopAt(`${op}:before`);
		const result = act();
		stopAt(`${op}:${result === "null" || result === "[]" ? "nothing" : "after"}`);
		return result;
	};
	return new Proxy(store, {
		get(_, name: string) {
			const value = store[name];
			if (typeof value !== "function") return value;
			return (...args: any[]) => around(name === "callText" ? args[0] : name, () => value.apply(store, args));
		},
	});
}
