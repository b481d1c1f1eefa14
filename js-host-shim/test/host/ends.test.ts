import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunControl, Stopped } from "wfcore-host-shim";
import { flush, inStep, step, stopped, World } from "./world.ts";

test("a timeout, or the agent's cancel, aborts a turn that is not the step's", async () => {
	for (const how of ["timeout", "cancel"] as const) {
		using world = new World();
		let late = () => {};
		const [p, runId] = await inStep(world, async (control) => {
			await Promise.race([stopped(control), new Promise<void>((resolve) => (late = resolve))]);
			return control.timedOut("it took an hour");
		});
		await p.settle(); // without a result
		p.session.startTurn();
		p.host.turnStarted();
		if (how === "timeout") {
			late();
			await flush();
			assert.equal(world.run(runId).errorCode, "timed_out");
		} else {
			await p.host.cancel(runId, "agent");
		}
		assert.equal(p.session.aborts, 0, how);
	}
});

test("an engine acts or speaks after its end", async () => {
	using world = new World();
	let control: RunControl | undefined;
	const p = world.process(async (given) => {
		control = given;
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	await p.goesOn(2);
	assert.equal(world.run(runId).status, "done");
	assert.equal((control!.signal.reason as Stopped).why, "ended");
	await assert.rejects(() => control!.node(), { why: "ended" });
	for (const speak of [() => control!.prompt(step), () => control!.present("late", "late"), () => control!.timedOut("late")]) {
		assert.throws(speak, { why: "ended" });
	}
	assert.deepEqual(world.said(), []);
});

test("a host that was shut down queues what nobody starts", async () => {
	using world = new World();
	const p = world.process();
	await p.host.shutdown();
	await assert.rejects(() => p.host.start("greet", {}), { code: "store_closed" });
	assert.deepEqual(world.store.listRuns({ limit: 1 }), []);
});

test("an engine's error tells the agent its private input", async () => {
	using world = new World();
	const p = world.process(async () => {
		throw new Error("no entry for marker-of-private-input");
	});
	await p.host.start("greet", { key: "marker-of-private-input" });
	await p.settle();
	await p.goesOn(4);
	const told = JSON.stringify([world.intents(), p.session.messages, world.store.listRuns({ limit: 9 })]);
	assert.match(told, /no entry for \[input\]/);
	assert.doesNotMatch(told, /marker/);
});

test("a lost claim aborts a turn that is not the step's, or not the one that is", async () => {
	for (const own of [true, false]) {
		using world = new World();
		const [p, runId] = await inStep(world);
		if (!own) {
			await p.settle(); // without a result
			p.session.startTurn();
			p.host.turnStarted();
		}
		world.now += 31_000;
		world.store.takeOverExpiredRun({ runId, sessionId: world.session.id, runnerId: "another" });
		await p.host.poll();
		assert.equal(p.session.aborts, own ? 1 : 0);
	}
});
