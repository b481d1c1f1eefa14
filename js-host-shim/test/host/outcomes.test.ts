import assert from "node:assert/strict";
import { test } from "node:test";
import type { Intent } from "wfcore-host-shim";
import { flush, inStep, step, stopped, World, type Process } from "./world.ts";

/** The one turn that a run owes, delivered as a fallback once. */
async function fallback(world: World, p: Process, runId: string): Promise<Intent> {
	await p.goesOn(14);
	const intents = world.intents(runId);
	assert.equal(intents.length, 1);
	const told = p.session.messages.filter(({ details }) => details?.["turnIntentId"] === intents[0]!.intentId);
	assert.deepEqual(told.map(({ customType }) => customType), ["pi-workflows-deferred-turn"]);
	assert.equal(intents[0]!.resolution, "fallback");
	assert.deepEqual(p.reported, []);
	return intents[0]!;
}

async function nothing(world: World, p: Process, runId: string, messages: string[]): Promise<void> {
	await p.goesOn(14);
	assert.deepEqual(world.intents(runId), []);
	assert.deepEqual(world.said(), messages);
	assert.deepEqual(p.errors, []);
}

test("a source that changed after the start runs, or is told twice", async () => {
	using world = new World();
	const p = world.process();
	const runId = await p.start();
	p.engine.definitionDigest = "sha256:other";
	await p.settle();
	assert.equal(world.run(runId).errorCode, "source_changed");
	assert.deepEqual(p.engine.acted, []);
	const { cause, nodeId } = await fallback(world, p, runId);
	assert.deepEqual([cause, nodeId], ["launchFailed", "$launch"]);
	assert.ok(p.session.messages[0]!.content.includes(world.run(runId).errorMessage!));
});

for (const failing of ["buildFailure", "bundleFailure"] as const) {
	test(`a ${failing} is told unsafely, or with another run's turn`, async () => {
		using world = new World();
		const p = world.process();
		p.engine[failing] = new Error("password=hunter2hunter2\n    at build (engine.ts:1:1)");
		const runId = await p.start();
		await p.settle();
		assert.equal(world.run(runId).errorCode, "activation_failed");
		assert.deepEqual(p.engine.acted, []);
		await fallback(world, p, runId);
		assert.doesNotMatch(p.session.messages[0]!.content, /hunter2|engine\.ts/);
	});
}

test("a crash before the first prompt names a step, or owes nothing", async () => {
	using world = new World();
	const p = world.process(async (control) => {
		await control.node();
		throw new Error("no provider");
	});
	const runId = await p.start();
	await p.settle();
	assert.equal(world.run(runId).errorCode, "run_failed");
	const { cause, nodeId } = await fallback(world, p, runId);
	assert.deepEqual([cause, nodeId], ["failed", "$launch"]);
});

test("a crash after the first prompt is taken for one before it", async () => {
	using world = new World();
	const [p, runId] = await inStep(world, async (control) => {
		control.stepEnded();
		throw new Error("out of paper");
	});
	const { cause, nodeId } = await fallback(world, p, runId);
	assert.deepEqual([cause, nodeId], ["failed", "$terminal"]);
});

test("a success owes a fallback", async () => {
	using world = new World();
	const p = world.process(async (control) => {
		control.present(`${control.runId}:result`, "it went well");
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	assert.equal(world.run(runId).status, "done");
	await nothing(world, p, runId, ["presentation"]);
});

test("a waiting run keeps its session, or owes a fallback", async () => {
	using world = new World();
	const p = world.process(async () => ({ outcome: "waiting" }));
	const runId = await p.start();
	await p.settle();
	assert.equal(world.run(runId).status, "parked");
	await nothing(world, p, runId, []);
	await p.start();
});

test("a pause owes a turn, or lets a message go", async () => {
	using world = new World();
	let pause = () => {};
	const p = world.process(async (control) => {
		p.session.sendError = new Error("not now");
		control.prompt(step);
		control.present("result", "a result");
		await new Promise<void>((resolve) => (pause = resolve));
		return { outcome: "paused" };
	});
	const runId = await p.start();
	await p.settle();
	pause();
	await flush();
	assert.equal(world.run(runId).status, "parked");
	p.session.sendError = undefined;
	p.errors.length = 0;
	await nothing(world, p, runId, []);
});

test("a step that ran out of time is aborted before it is noted, or told twice", async () => {
	using world = new World();
	let late = () => {};
	const [p, runId] = await inStep(world, async (control) => {
		await new Promise<void>((resolve) => (late = resolve));
		return control.timedOut("it took an hour");
	});
	let noted = -1;
	p.faults = (_call, op) => {
		noted = op === "noteTurnEvent" ? p.session.aborts : noted;
		return undefined;
	};
	late();
	await flush();
	assert.deepEqual([noted, p.session.aborts], [0, 1]);
	assert.equal(world.run(runId).errorCode, "timed_out");
	assert.deepEqual(world.said(), ["agent-step"], "nothing goes before the turn has settled");
	const { cause, nodeId, attemptId } = await fallback(world, p, runId);
	assert.deepEqual([cause, nodeId, attemptId], ["timedOut", step.nodeId, step.attemptId]);
});

test("a step that timed out is told before its outcome, or a second time after it", async () => {
	using world = new World();
	let late = () => {};
	const [p, runId] = await inStep(world, async (control) => {
		control.timedOut("it took an hour");
		await new Promise<void>((resolve) => (late = resolve));
		throw new Error("and then it broke");
	});
	await p.goesOn(3); // the engine goes on, and with it what the turn is owed for
	assert.deepEqual(world.said(), ["agent-step"]);
	late();
	await flush();
	assert.equal(world.run(runId).status, "failed");
	const { cause } = await fallback(world, p, runId);
	assert.equal(cause, "timedOut");
});

test("the agent's own cancel is noted after its abort, or told before the turn has settled", async () => {
	using world = new World();
	const [p, runId] = await inStep(world);
	assert.deepEqual(p.host.activeStep(runId), step);
	const order: string[] = [];
	p.faults = (_call, op) => {
		if (op === "noteTurnEvent" || op === "cancelPreparedRun") {
			order.push(`${op} after ${p.session.aborts} aborts`);
		}
		return undefined;
	};
	assert.equal((await p.host.cancel(runId, "agent"))!.status, "cancelled");
	assert.deepEqual(order, ["noteTurnEvent after 0 aborts", "cancelPreparedRun after 1 aborts"]);
	assert.equal(p.host.activeStep(runId), undefined, "its engine was stopped");
	await p.polls(2);
	assert.deepEqual(world.said(), ["agent-step"]);
	const { cause, nodeId, attemptId } = await fallback(world, p, runId);
	assert.deepEqual([cause, nodeId, attemptId], ["agentCancelled", step.nodeId, step.attemptId]);
});

test("the agent's cancel between steps, or the user's in one, owes a turn", async () => {
	for (const origin of ["agent", "user"] as const) {
		using world = new World();
		const [p, runId] = await inStep(world, async (control) => {
			if (origin === "agent") {
				control.stepEnded();
			}
			return stopped(control);
		});
		await p.host.cancel(runId, origin);
		assert.equal(p.session.aborts, 0);
		await nothing(world, p, runId, ["agent-step"]);
	}
});

test("a step whose run another process has goes on, or its prompt goes twice", async () => {
	using world = new World();
	const [p, runId] = await inStep(world);
	world.now += 31_000; // the process sleeps
	const q = world.process(async (control) => {
		control.prompt(step);
		return stopped(control);
	});
	await q.host.sessionStart();
	await flush();
	assert.deepEqual(q.engine.acted, [runId]);
	await p.polls(1);
	assert.equal(p.session.aborts, 1);
	assert.equal(p.host.activeStep(runId), undefined);
	await p.settle();
	await p.polls(3);
	assert.equal(p.session.messages.filter(({ customType }) => customType === "pi-workflows-deferred-turn").length, 0);
	assert.equal(world.run(runId).status, "running");
});

test("what a run had still to say goes after another process cancelled it", async () => {
	using world = new World();
	const p = world.process(async (control) => {
		p.session.sendError = new Error("not now");
		control.prompt(step);
		control.present("result", "a result");
		return stopped(control);
	});
	const runId = await p.start();
	await p.settle();
	world.store.cancelPreparedRun({ runId, origin: "user" });
	await p.polls(1);
	p.session.sendError = undefined;
	p.errors.length = 0;
	await nothing(world, p, runId, []);
});

test("the second prompt of a run is lost", async () => {
	using world = new World();
	const attempts = ["1", "2", "3"];
	const p = world.process(async (control) => {
		for (const attemptId of attempts) {
			await control.node();
			control.prompt({ ...step, attemptId });
			assert.equal(p.host.activeStep(control.runId)?.attemptId, attemptId);
			control.stepEnded();
			assert.equal(p.host.activeStep(control.runId), undefined);
		}
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	assert.deepEqual(p.session.messages.map(({ details }) => details?.["attemptId"]), attempts);
	await nothing(world, p, runId, ["agent-step", "agent-step", "agent-step"]);
});
