import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { LaunchCoordinator, LaunchFailure, openStore, TurnCoordinator } from "wfcore-host-shim";
import type { EngineEnd, Finding, RunControl } from "wfcore-host-shim";
import { flush, step, stopped, World, type Process } from "./world.ts";

/** The core itself cannot be asked. */
const silent = (_call: number, op: string) => (op.startsWith("next") ? ("fails" as const) : undefined);
const answering = () => undefined;

test("a node acts while its claim cannot be looked at", async () => {
	using world = new World();
	let go = () => {};
	const nodes: number[] = [];
	const p = world.process(async (control) => {
		for (let n = 1; n <= 2; n++) {
			await new Promise<void>((resolve) => (go = resolve));
			await control.node();
			nodes.push(n);
		}
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	p.faults = silent;
	go();
	await flush();
	await p.polls(3);
	assert.deepEqual(nodes, []);
	p.faults = answering;
	await p.polls(1);
	assert.deepEqual(nodes, [1]);
	go();
	await flush();
	assert.equal(world.run(runId).status, "done");
});

test("an engine goes on after a shutdown that the core could not be told of", async () => {
	using world = new World();
	let ended = false;
	const p = world.process(async (control) => stopped(control).finally(() => (ended = true)));
	await p.start();
	await p.settle();
	p.faults = silent;
	await p.host.shutdown();
	assert.ok(ended);
	p.faults = answering;
	await p.polls(2);
	assert.equal(p.engine.acted.length, 1);
});

test("the end of a run is lost while the core cannot be told", async () => {
	using world = new World();
	let end = () => {};
	const p = world.process(async () => {
		await new Promise<void>((resolve) => (end = resolve));
		return { outcome: "done" };
	});
	const runId = await p.start();
	await p.settle();
	p.faults = silent;
	end();
	await p.polls(4);
	p.faults = answering;
	await p.polls(1);
	assert.equal(world.run(runId).status, "done");
});

test("an abort waits for a core that cannot be told, or is done once more later", async () => {
	using world = new World();
	const p = world.process(async (control) => {
		control.prompt(step);
		return stopped(control);
	});
	const runId = await p.start();
	await p.settle();
	p.faults = silent;
	await p.host.cancel(runId, "agent");
	assert.equal(p.session.aborts, 1);
	p.faults = answering;
	await p.settle();
	await p.goesOn(12);
	assert.equal(p.session.aborts, 1);
	assert.equal(world.intents()[0]!.resolution, "fallback");
	assert.deepEqual(p.reported, []);
	assert.deepEqual(world.said(), ["agent-step", "deferred-turn"]);
});

test("a session that cannot be asked stops all deliveries", async () => {
	using world = new World();
	const p = world.process();
	p.engine.buildFailure = new Error("no such file");
	await p.start();
	const { entries } = p.session;
	p.session.entries = () => assert.fail("the file is locked");
	await p.settle();
	await p.polls(2);
	assert.equal(p.session.sends, 0);
	p.session.entries = entries;
	await p.polls(1);
	assert.equal(p.session.sends, 1);
});

test("what throws in a report or an abort stops all that follows", async () => {
	using world = new World();
	const p = world.process(async (control) => {
		control.prompt(step);
		return stopped(control);
	});
	const runId = await p.start();
	await p.settle();
	p.session.abort = () => assert.fail("there is nothing to abort");
	p.errors.push = () => assert.fail("the user is gone");
	await p.host.cancel(runId, "agent");
	await p.goesOn(3);
	assert.deepEqual(world.said(), ["agent-step", "deferred-turn"]);
	await p.start();
	await p.settle();
	assert.equal(p.engine.acted.length, 2);
});

const unreadable: Record<string, (p: Process) => void> = {
	"a digest": (p) => (p.engine.definitionDigest = ""),
	"half a character": (p) => (p.engine.buildFailure = new Error("\ud83d")),
	"an unknown code": (p) => (p.engine.buildFailure = new LaunchFailure("broken" as never, "text")),
	"no error": (p) => (p.engine.buildFailure = Object.create(null) as Error),
	"no end": (p) => (p.engine.script = async () => undefined as unknown as EngineEnd),
	"an unknown outcome": (p) => (p.engine.script = async () => ({ outcome: "broken" }) as unknown as EngineEnd),
	"an endless message": (p) => (p.engine.script = async () => ({ outcome: "failed", message: "x".repeat(2 ** 21) })),
};
for (const [what, breaks] of Object.entries(unreadable)) {
	test(`an engine that says ${what} is waited for for ever`, async () => {
		using world = new World();
		const p = world.process();
		const runId = await p.host.start("monitor", {});
		breaks(p);
		await p.settle();
		await p.polls(1);
		assert.equal(world.run(runId.run.runId).status, "failed");
		await p.goesOn(3);
		assert.deepEqual(world.said(), ["deferred-turn"]);
	});
}

test("a bundle that cannot be read, or understood, is looked at for ever", async () => {
	for (const inspect of [() => assert.fail("torn"), () => ({ kind: "broken" }) as unknown as Finding]) {
		using world = new World();
		const p = world.process();
		p.engine.building = new Promise(() => {});
		const runId = await p.start();
		await p.settle();
		await p.host.shutdown();
		const q = world.process();
		q.engine.inspect = inspect;
		await q.host.sessionStart();
		assert.equal(world.run(runId).errorCode, "activation_failed");
		assert.equal(q.errors.length, 1);
	}
});

test("the end of an engine that was stopped is taken for that of the next one", async () => {
	for (let ticks = 0; ticks < 12; ticks++) {
		using world = new World();
		const ends: (() => void)[] = [];
		const p = world.process(() => new Promise((_, reject) => ends.push(() => reject(new Error("no provider")))));
		const runId = await p.start();
		await p.settle();
		world.now += 31_000; // another process had it meanwhile
		const taken = { runId, claimToken: "token" };
		world.store.takeOverExpiredRun({ ...taken, sessionId: world.session.id, runnerId: "q" });
		world.store.releaseRunClaim(taken);
		ends[0]!();
		for (let i = 0; i < ticks; i++) {
			await undefined;
		}
		await p.host.poll();
		await p.polls(1);
		assert.deepEqual([ends.length, world.run(runId).status], [2, "running"], `after ${ticks} ticks`);
		ends[1]!();
		await flush();
		assert.equal(world.run(runId).status, "failed");
	}
});

/** Whether things can be collected. */
async function held(things: WeakRef<object>[]): Promise<number> {
	setFlagsFromString("--expose-gc");
	await flush();
	(runInNewContext("gc") as () => void)();
	return things.filter((thing) => thing.deref() !== undefined).length;
}

test("what was built for runs that have ended is kept", async () => {
	using world = new World();
	const built: WeakRef<object>[] = [];
	const build = () => {
		const one = {};
		built.push(new WeakRef(one));
		return one;
	};
	const { engine, session, store } = world;
	const host = new LaunchCoordinator<object>({
		store,
		session,
		engine: Object.assign(Object.create(engine) as typeof engine, {
			build,
			writeBundle: () => {
				if (built.length % 2 === 0) {
					throw new Error("the disk is full");
				}
			},
			start: async () => ({ outcome: "done" }),
		}) as never,
		runnerId: "p",
		control: (run) => run as RunControl,
	});
	for (let i = 0; i < 200; i++) {
		const runId = `run-${i}`;
		const source = { workflowName: "w", workflowSourceRef: "builtin:w", workflowSource: {}, definitionDigest: engine.definitionDigest };
		store.reservePreparedRun({ runId, ...source, input: {}, originSessionId: session.id });
		await host.settled();
		await flush();
	}
	assert.deepEqual([built.length, await held(built)], [200, 0]);
});

test("messages that were sent, or withdrawn, are kept", async () => {
	using world = new World();
	const { session, store } = world;
	session.appending = "never";
	const turns = new TurnCoordinator({ store, session });
	const messages: WeakRef<object>[] = [];
	for (let i = 0; i < 200; i++) {
		const message = { customType: "pi-workflows-presentation", content: `${i}` };
		messages.push(new WeakRef(message));
		session.sendError = i % 2 === 0 ? undefined : new Error("not now");
		turns.natural({ runId: `run-${i}`, messageId: `${i}`, resolution: "presentation", message });
		turns.withdraw(`run-${i}`);
	}
	assert.equal(session.sends, 100);
	assert.ok((await held(messages)) <= 1); // the last one may be on the stack
});

test("a message that the core cannot read is told to another, or stops the others", () => {
	using world = new World();
	const turns = new TurnCoordinator({ store: world.store, session: world.session });
	const message = { customType: "pi-workflows-presentation", content: "text" };
	const natural = { runId: "run", resolution: "presentation" as const, message };
	assert.throws(() => turns.natural({ ...natural, messageId: "" }), { code: "bad_request" });
	turns.natural({ ...natural, messageId: "m" });
	assert.equal(world.session.sends, 1);
});

test("two stores of one file let two processes send", async () => {
	const { mkdtempSync, rmSync } = await import("node:fs");
	const { join } = await import("node:path");
	const { tmpdir } = await import("node:os");
	const folder = mkdtempSync(join(tmpdir(), "wfcore-host-"));
	try {
		using world = new World();
		const now = () => world.now;
		using first = openStore({ path: join(folder, "workflows.sqlite"), now });
		using second = openStore({ path: join(folder, "workflows.sqlite"), now });
		const sessions = [world.session.restart(), world.session.restart()];
		const source = { workflowName: "w", workflowSourceRef: "builtin:w", workflowSource: {}, definitionDigest: "d", input: {} };
		const { run } = first.reservePreparedRun({ runId: "run", ...source, originSessionId: world.session.id });
		const { claimToken } = first.claimPreparedRun({ runId: run.runId, sessionId: world.session.id, runnerId: "p" })!;
		first.failPreparedRun({ runId: run.runId, claimToken: claimToken!, errorCode: "activation_failed" });
		const hosts = [first, second].map((store, i) => new TurnCoordinator({ store, session: sessions[i]! }));
		for (let i = 0; i < 4; i++) {
			hosts.forEach((host) => host.poll());
			sessions.forEach((session) => session.settle());
			hosts.forEach((host) => host.settled());
		}
		assert.equal(sessions[0]!.sends + sessions[1]!.sends, 1);
		assert.equal(second.listWorkflowTurnIntents({ runId: "run", limit: 1 })[0]!.resolution, "fallback");
	} finally {
		rmSync(folder, { recursive: true });
	}
});
