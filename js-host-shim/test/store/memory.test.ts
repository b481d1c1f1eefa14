// A host lives for days: calls leave nothing behind.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Store } from "wfcore-host-shim";
import { cycle, open, refused, temp } from "./temp.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The memories of the instances that are made meanwhile. */
function memories(run: () => void): WebAssembly.Memory[] {
	const found: WebAssembly.Memory[] = [];
	const { Instance } = WebAssembly;
	WebAssembly.Instance = class extends Instance {
		constructor(...args: ConstructorParameters<typeof Instance>) {
			super(...args);
			found.push(this.exports.memory as WebAssembly.Memory);
		}
	};
	try {
		run();
	} finally {
		WebAssembly.Instance = Instance;
	}
	return found;
}

test("memory does not grow with the number of calls", (t) => {
	const path = join(temp(t), "store");
	let store!: Store;
	const [memory, ...more] = memories(() => (store = open(t, { path })));
	assert.equal(more.length, 0, "a new file needs one instance");
	cycle(store, "run");
	const calls = (count: number) => {
		for (let i = 0; i < count; i++) {
			store.getRun({ runId: "run" });
			if (i % 100 === 0) {
				refused("not_found", () => store.cancelPreparedRun({ runId: "none" }));
			}
		}
		collect();
		const { heapUsed, external } = process.memoryUsage();
		return { core: memory!.buffer.byteLength, host: heapUsed + external };
	};
	const before = calls(2_000);
	const after = calls(20_000);
	const grown = [after.core - before.core, after.host - before.host].map((bytes) => bytes / 2 ** 20);
	assert.ok(Math.max(...grown) < 2, `the core and its host grew by ${grown} MiB`);
});
