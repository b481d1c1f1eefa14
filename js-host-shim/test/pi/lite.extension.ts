// The package pi-workflows-lite with points to kill it at, and with a short lease where it will be killed:
// the points of stop.ts, and `OP:before` and `OP:after` for each operation on its store, or `OP:nothing` after one that
// finds nothing.

import { openStore } from "../../dist/index.js";
import { stopAt, stopping } from "./stop.ts";

export default async function (pi: any): Promise<void> {
	const { default: lite } = await import(process.env.WFTEST_LITE ?? "");
	const leaseMs = process.env.WFTEST_STOP_AT ? 1500 : 30_000;
	lite(stopping(pi), { openStore: (path: string) => stoppingStore(path), leaseMs, pollMs: 100 });
}

function stoppingStore(path: string): any {
	const store: any = openStore({ path });
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
