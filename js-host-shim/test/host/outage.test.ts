import assert from "node:assert/strict";
import { test } from "node:test";
import { firstProcess, holds, limit, scenarios } from "./scenarios.ts";
import { World } from "./world.ts";

for (const [name, scenario] of Object.entries(scenarios)) {
	for (const fault of ["fails", "failsAfter"] as const) {
		test(`a store that ${fault} once in ${name} changes how it ends`, async () => {
			using store = new World();
			for (let n = 0; ; n++) {
				assert.ok(n < limit);
				const world = new World(store);
				const [p, runId] = await firstProcess(world, scenario, fault, n);
				const calls = p.calls;
				await p.goesOn(5);
				const at = `${fault} at call ${n}: ${p.ops[n + 3]}`;
				assert.equal(world.run(runId).status, scenario.status, at);
				assert.equal(world.intents().length, scenario.owed, at);
				assert.deepEqual(p.reported, [], at);
				assert.ok(world.log.filter((what) => what.includes("start")).length <= 1, at);
				try {
					holds(world, runId);
				} catch (error) {
					throw new Error(at, { cause: error });
				}
				if (n > calls) {
					return;
				}
			}
		});
	}
}
