import assert from "node:assert/strict";
import { test } from "node:test";
import type { EngineEnd, RunControl } from "wfcore-host-shim";
import { flush, step, stopped, World, type Process } from "./world.ts";

/** A run whose agent works on a step, in a turn, until it is told to go on. */
async function inStep(world: World, then: (control: RunControl) => EngineEnd | Promise<EngineEnd>): Promise<[Process, () => Promise<void>]> {
	let go = () => {};
	const p = world.process(async (control) => {
		control.prompt(step);
		await Promise.race([stopped(control), new Promise<void>((resolve) => (go = resolve))]);
		return then(control);
	});
	await p.start();
	await p.settle();
	assert.deepEqual(world.said(), ["agent-step"]);
	return [
		p,
		async () => {
			go();
			await flush();
		},
	];
}

test("a step that timed out and could not be noted is told as the end of its run alone", async () => {
	using world = new World();
	const [p, go] = await inStep(world, (control) => control.timedOut("it took an hour"));
	p.faults = (_call, op) => (op === "noteTurnEvent" ? "fails" : undefined);
	await go();
	assert.equal(p.session.aborts, 1);
	const { nodeId, attemptId, cause, eligibleAt } = world.intents()[0]!;
	assert.deepEqual([nodeId, attemptId, cause], [step.nodeId, step.attemptId, "timedOut"]);
	assert.notEqual(eligibleAt, null);
	assert.deepEqual(p.reported, []);
});

test("a step whose engine broke is not named", async () => {
	using world = new World();
	const [p, go] = await inStep(world, () => assert.fail("out of paper"));
	await go();
	await p.goesOn(2);
	assert.equal(world.intents().length, 1);
	assert.match(p.session.messages.at(-1)!.content, /review/);
});

test("a turn that may be lost is not reported", async () => {
	using world = new World();
	const [p] = await inStep(world, stopped);
	const runId = world.store.getRun({ sessionId: p.session.id })!.runId;
	p.faults = (_call, op) => (op === "noteTurnEvent" || op === "cancelPreparedRun" ? "fails" : undefined);
	await assert.rejects(p.host.cancel(runId, "agent"), { code: "store_unavailable" });
	assert.deepEqual([p.session.aborts, p.reported], [1, [runId]]);
	assert.equal(world.run(runId).status, "running");
});

test("a shutdown does not wait for the end of an engine", async () => {
	using world = new World();
	let end = () => {};
	const p = world.process(async (control) => {
		await stopped(control).catch(() => {});
		await new Promise<void>((resolve) => (end = resolve));
		throw new Error("it took its time");
	});
	await p.start();
	await p.settle();
	let over = false;
	const shutdown = p.host.shutdown().then(() => (over = true));
	await flush();
	const q = world.process();
	await q.host.sessionStart();
	await flush();
	assert.deepEqual([over, q.engine.acted], [false, []]);
	end();
	await shutdown;
	await q.host.poll();
	await flush();
	assert.equal(q.engine.acted.length, 1);
});

test("a message that delivers what is owed does not say which it is", async () => {
	using world = new World();
	const p = world.process();
	p.engine.buildFailure = new Error("no such file");
	p.session.onHold = true;
	const runId = await p.start();
	await p.settle();
	const message = { customType: "pi-workflows-presentation", content: "text", details: { runId } };
	p.host.turns.natural({ runId, messageId: "m", resolution: "presentation", message });
	assert.equal(p.session.sends, 0);
	p.session.onHold = false;
	await p.polls(2);
	const { intentId, resolution } = world.intents()[0]!;
	assert.equal(resolution, "presentation");
	assert.deepEqual(p.session.messages.map(({ details }) => details), [{ runId, turnIntentId: intentId, messageId: "m" }]);
});
