import assert from "node:assert/strict";
import { test } from "node:test";
import { firstProcess, holds, limit, scenarios, type Scenario } from "./scenarios.ts";
import { World, type Process } from "./world.ts";

for (const [name, scenario] of Object.entries(scenarios)) {
	for (const fault of ["dies", "diesAfter"] as const) {
		test(`a process that ${fault} in ${name} leaves a run stuck, or loses or doubles what is owed`, async () => {
			using store = new World();
			let n = 0;
			for (let died = true; died; n++) {
				assert.ok(n < limit);
				const world = new World(store);
				const [p, runId] = await firstProcess(world, scenario, fault, n);
				died = p.dead;
				const at = `${fault} at call ${n}: ${p.ops.at(-1)}`;
				try {
					await recovered(world, scenario, p, runId);
				} catch (error) {
					throw new Error(at, { cause: error });
				}
			}
			assert.ok(n > 10, "it dies somewhere");
		});
	}
}

/** The next process, after the lease of the first one. */
async function recovered(world: World, scenario: Scenario, p: Process, runId: string): Promise<void> {
	if (!p.dead) {
		await p.host.shutdown();
	}
	const before = world.log.length;
	world.now += 31_000;
	const q = world.process();
	scenario.ready(q, "2");
	await q.host.sessionStart();
	await q.goesOn(5);
	holds(world, runId);
	assert.deepEqual(q.errors, []);
	const starts = world.log.filter((what) => what.includes("start"));
	assert.ok(starts.filter((what) => what.startsWith("p1")).length <= 1, "starts of the first");
	assert.ok(world.log.slice(before).filter((what) => what.includes("start")).length <= 1, "starts of the second");
	assert.ok(starts.filter((what) => !what.endsWith("resumed")).length <= 1, "starts that are no resumes");
	const prompted = world.session.messages.map(({ details }) => details?.["attemptId"]).filter((attempt) => attempt !== undefined);
	assert.equal(new Set(prompted).size, prompted.length, "prompts");
}
