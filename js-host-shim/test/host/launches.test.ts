import assert from "node:assert/strict";
import { test } from "node:test";
import { Stopped, WfcoreError, type Json, type RunControl } from "wfcore-host-shim";
import { flush, step, stopped, World } from "./world.ts";

const refused = (code: string) => (error: unknown) => error instanceof WfcoreError && error.code === code;

test("a failed launch is not told, or a corrected one does not start", async () => {
	using world = new World();
	const p = world.process();
	p.engine.buildFailure = new Error("no such file: monitor.yaml");

	const failed = await p.start(); // 1 the agent starts it, 2 it is queued
	assert.equal(world.run(failed).status, "queued");
	await p.settle(); // 3 its turn settles, 4 the launch fails
	assert.equal(world.run(failed).status, "failed");
	assert.equal(world.run(failed).errorCode, "activation_failed");
	await p.polls(1); // 5 the agent is told in a turn of its own
	assert.deepEqual(world.said(), ["deferred-turn"]);
	assert.equal(p.session.idle(), false, "the message starts a turn");
	const [intent] = world.intents(failed);
	assert.equal(intent!.cause, "launchFailed");
	assert.match(p.session.messages[0]!.content, /failed to start .*no such file: monitor\.yaml/);

	p.engine.buildFailure = undefined;
	const corrected = (await p.host.start("monitor", { text: "again" })).run.runId; // 6 corrected, in that turn
	assert.deepEqual(world.log, [`p1 build ${failed}`]);
	await p.settle(); // 7 it settles
	assert.deepEqual(world.events(corrected), ["queued", "starting", "running", "done"]); // 8 it runs
	assert.deepEqual(world.log.slice(1), ["build", "writeBundle", "start"].map((what) => `p1 ${what} ${corrected}`));
	await p.goesOn(15);
	assert.deepEqual(world.said(), ["deferred-turn"]);
	assert.equal(world.intents()[0]!.resolution, "fallback");
	assert.deepEqual(p.errors, []);
});

test("an engine acts before the turn has settled", async () => {
	using world = new World();
	const p = world.process();
	const runId = await p.start();
	await p.polls(3);
	await p.host.sessionStart();
	await flush();
	assert.deepEqual(world.log, []);
	assert.equal(world.run(runId).status, "queued");
	await p.settle();
	assert.equal(world.log.length, 3);
});

test("a run acts before its bundle is written and its final fence is passed", async () => {
	using world = new World();
	const p = world.process(async ({ runId }) => {
		assert.equal(world.run(runId).status, "running");
		assert.deepEqual(world.engine.bundles.get(runId), { kind: "running" });
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	assert.deepEqual(world.events(runId), ["queued", "starting", "running", "done"]);
});

const events = ["settled", "poll", "sessionStart"] as const;
for (const first of events) {
	for (const second of events) {
		test(`${first} and ${second} while an activation is in flight start a run twice`, async () => {
			using world = new World();
			const p = world.process();
			let built = () => {};
			p.engine.building = new Promise((resolve) => (built = resolve));
			const runId = await p.start();
			p.session.settle();
			const told = [p.host[first](), p.host[second](), p.host[second]()];
			await flush();
			told.push(p.host[first](), p.host.poll());
			await Promise.all(told);
			built();
			told.push(p.host[second](), p.host[first]());
			await Promise.all(told);
			await flush();
			await p.goesOn(3);
			assert.deepEqual(world.events(runId), ["queued", "starting", "running", "done"]);
			assert.deepEqual(world.log, ["build", "writeBundle", "start"].map((what) => `p1 ${what} ${runId}`));
		});
	}
}

test("a start-up leaves a live run of another process stuck, or starts it twice", async () => {
	using world = new World();
	const p = world.process(async (control) => stopped(control));
	const runId = await p.start();
	await p.settle();
	p.dead = true;

	const q = world.process();
	await q.host.sessionStart();
	await q.polls(9); // its lease lives for 30 s
	assert.deepEqual(q.engine.acted, []);
	await q.polls(2);
	assert.deepEqual(q.engine.acted, [runId]);
	assert.deepEqual(world.log.slice(3), [`p2 start ${runId} resumed`]);
	assert.deepEqual(world.events(runId), ["queued", "starting", "running", "claim_transferred", "done"]);
});

test("a resumed run has lost its input", async () => {
	using world = new World();
	const inputs: Json[] = [];
	const p = world.process(async (control, input) => {
		inputs.push(input);
		return stopped(control);
	});
	const runId = await p.start();
	await p.settle();
	p.dead = true;
	const q = world.process(async (_control, input) => {
		inputs.push(input);
		return { outcome: "done" };
	});
	await q.polls(11);
	assert.deepEqual(inputs, [{ text: "private words" }, { text: "private words" }]);
	assert.equal(world.run(runId).status, "done");
});

test("a start that is refused leaves a row", async () => {
	using world = new World();
	const p = world.process();
	await assert.rejects(p.host.start("", {}), { name: "LaunchFailure", code: "workflow_not_found" });
	await assert.rejects(p.host.start("monitor", null), { name: "LaunchFailure", code: "input_invalid" });
	assert.equal(p.host.status(), null);
	assert.deepEqual(world.store.listRuns({ limit: 100 }), []);

	const runId = await p.start();
	await assert.rejects(p.host.start("monitor", {}), (error: unknown) => {
		assert.ok(refused("session_reserved")(error));
		assert.equal((error as WfcoreError).details["runId"], runId);
		return true;
	});
	assert.equal(world.store.listRuns({ limit: 100 }).length, 1);
	assert.match(p.host.status()!.line, /queued/);
});

test("a shutdown leaves the next host waiting for the lease", async () => {
	using world = new World();
	let ended = false;
	const p = world.process(async (control) => stopped(control).finally(() => (ended = true)));
	const runId = await p.start();
	await p.settle();
	await p.host.shutdown();
	assert.ok(ended);
	await p.polls(3);
	assert.deepEqual(p.engine.acted, [runId]);

	const q = world.process();
	await q.host.sessionStart();
	await flush();
	assert.deepEqual(q.engine.acted, [runId]);
	assert.equal(world.run(runId).status, "done");
});

test("a shutdown waits for a build, and its run for the lease", async () => {
	using world = new World();
	const p = world.process();
	p.engine.building = new Promise(() => {});
	const runId = await p.start();
	await p.settle();
	assert.equal(world.run(runId).status, "starting");
	await p.host.shutdown();

	const q = world.process();
	await q.host.sessionStart();
	await flush();
	assert.equal(world.run(runId).status, "done");
	assert.deepEqual(world.log, [`p1 build ${runId}`, ...["build", "writeBundle", "start"].map((what) => `p2 ${what} ${runId}`)]);
});

test("a node acts after another process cancelled its run", async () => {
	using world = new World();
	const nodes: string[] = [];
	let first = () => {};
	let control: RunControl | undefined;
	const p = world.process(async (given) => {
		control = given;
		await given.node();
		nodes.push("first");
		await new Promise<void>((resolve) => (first = resolve));
		await given.node();
		nodes.push("second");
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	assert.deepEqual(nodes, ["first"]);
	world.store.cancelPreparedRun({ runId, origin: "user" });
	first();
	await flush();
	assert.deepEqual(nodes, ["first"]);
	const reason = control!.signal.reason as Stopped;
	assert.ok(reason instanceof Stopped);
	assert.equal(reason.why, "cancelled");
	await assert.rejects(control!.node(), reason);
	assert.throws(() => control!.prompt(step), reason);
	assert.throws(() => control!.present("result", "text"), reason);
	assert.throws(() => control!.timedOut("late"), reason);
	await p.polls(2);
	assert.equal(world.run(runId).status, "cancelled");
	assert.deepEqual(p.errors, []);
});

test("an engine that ends in the tick of a cancel wins over it, or starts anything", async () => {
	for (const ending of ["before", "after"]) {
		using world = new World();
		let end = () => {};
		const p = world.process(async () => {
			await new Promise<void>((resolve) => (end = resolve));
			return { outcome: "done" };
		});
		const runId = await p.start();
		await p.settle();
		if (ending === "before") {
			end();
		}
		const cancelled = p.host.cancel(runId, "user");
		end();
		assert.equal((await cancelled)!.status, "cancelled");
		await flush();
		await p.goesOn(12);
		assert.deepEqual(world.events(runId), ["queued", "starting", "running", "cancelled"]);
		assert.deepEqual(world.said(), []);
		await p.host.shutdown();
		const next = world.process();
		await next.host.sessionStart();
		assert.equal(world.run(runId).status, "cancelled");
	}
});
