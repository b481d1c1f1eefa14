import assert from "node:assert/strict";
import { test } from "node:test";
import { interval, lease, World, type Process } from "./world.ts";

/** A process whose session is owed a turn for each of some launches that failed, and is idle. */
async function owing(world: World, launches = 1): Promise<Process> {
	const p = world.process();
	p.engine.buildFailure = new Error("no such file");
	p.session.onHold = true; // nothing goes before all of them have failed
	for (let i = 0; i < launches; i++) {
		await p.start();
		await p.settle();
		world.now += 1;
	}
	p.session.onHold = false;
	assert.deepEqual(world.said(), []);
	assert.equal(world.intents().filter(({ eligibleAt }) => eligibleAt !== null).length, launches);
	return p;
}

/** Whether a process has the first intent. */
function claimed(world: World): boolean {
	const until = world.intents()[0]!.deliveryClaimExpiresAt;
	return until !== null && Date.parse(until) > world.now;
}

/** Each intent was resolved by one message. */
function delivered(world: World): void {
	for (const { intentId, resolution } of world.intents()) {
		const messages = world.session.messages.filter(({ details }) => details?.["turnIntentId"] === intentId);
		assert.deepEqual([resolution, messages.length], ["fallback", 1]);
	}
}

test("a swallowed message is sent again before a turn that began later has ended, or more than once", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.appending = "never";
	p.session.startTurn();
	await p.settle();
	assert.equal(p.session.sends, 1);
	await p.settle(); // that no turn began before
	assert.equal(p.session.sends, 1);
	p.session.startTurn();
	await p.polls(1);
	assert.equal(p.session.sends, 1);
	p.session.appending = "now";
	await p.settle();
	assert.equal(p.session.sends, 2);
	await p.goesOn(14);
	assert.equal(p.session.sends, 2);
	delivered(world);
});

test("a swallowed message is never sent again where no turn comes, or before a lease of idle is over", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.appending = "never";
	await p.polls(1);
	assert.equal(p.session.sends, 1);
	p.session.appending = "now";
	await p.polls(lease / interval - 1);
	assert.equal(p.session.sends, 1);
	await p.polls(1);
	assert.equal(p.session.sends, 2);
	await p.goesOn(14);
	assert.equal(p.session.sends, 2);
	delivered(world);
});

test("a message that shows late is sent twice", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.appending = "late";
	await p.polls(3);
	assert.deepEqual([p.session.sends, world.said()], [1, []]);
	p.session.flush();
	await p.settle();
	await p.goesOn(14);
	assert.equal(p.session.sends, 1);
	delivered(world);
});

test("a session that refuses a message loses it, or its claim is kept", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.sendError = new Error("the provider is busy");
	await p.polls(2);
	assert.equal(p.errors.at(-1), p.session.sendError);
	assert.equal(claimed(world), false);
	p.session.sendError = undefined;
	await p.polls(1);
	await p.goesOn(14);
	assert.equal(p.session.sends, 1);
	delivered(world);
});

test("a session that gets busy while a send is prepared is sent to", async () => {
	using world = new World();
	const p = await owing(world);
	const { entries } = p.session;
	p.session.entries = function* () {
		p.session.pending = true;
		yield* entries.call(p.session);
	};
	await p.polls(1);
	assert.equal(p.session.sends, 0);
	assert.equal(claimed(world), false);
	p.session.entries = entries;
	p.session.pending = false;
	await p.polls(1);
	await p.goesOn(2);
	delivered(world);
});

test("a claim that another process has by now is sent under", async () => {
	using world = new World();
	const p = await owing(world);
	const q = world.process();
	const { entries } = p.session;
	p.session.entries = () => {
		p.session.entries = entries;
		world.now += lease; // it sleeps between the look and the send
		q.host.turns.poll();
		return [];
	};
	await p.polls(1);
	assert.deepEqual([p.session.sends, q.session.sends], [0, 1]);
	await p.goesOn(3);
	assert.equal(p.session.sends, 0);
	delivered(world);
});

test("an idle boundary takes two messages", async () => {
	using world = new World();
	const p = await owing(world, 2);
	p.session.appending = "late";
	await p.polls(5);
	assert.equal(p.session.sends, 1);
	p.session.flush();
	await p.polls(2);
	assert.equal(p.session.sends, 1);
	await p.settle();
	assert.equal(p.session.sends, 2);
	await p.goesOn(14);
	assert.equal(p.session.sends, 2);
	delivered(world);
});

test("a held session, or a busy one, is sent to", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.onHold = true;
	await p.polls(12);
	assert.equal(p.session.sends, 0);
	p.session.onHold = false;
	p.session.startTurn();
	await p.polls(12);
	assert.equal(p.session.sends, 0);
	await p.settle();
	assert.equal(p.session.sends, 1);
});

test("a shutdown keeps the claim of what was sent", async () => {
	using world = new World();
	const p = await owing(world);
	p.session.appending = "never";
	await p.polls(1);
	assert.equal(claimed(world), true);
	await p.host.shutdown();
	assert.equal(claimed(world), false);
	const q = world.process();
	await q.host.sessionStart();
	assert.deepEqual([p.session.sends, q.session.sends], [1, 1]);
	await q.goesOn(1);
	delivered(world);
});

test("two processes of a session both send, wherever one comes between the other's calls", async () => {
	using store = new World();
	for (let n = 0; ; n++) {
		const world = new World(store);
		const p = await owing(world, 2);
		const q = world.process();
		const from = p.calls;
		p.faults = (call) => {
			if (call - from === n) {
				q.host.turns.poll();
			}
			return undefined;
		};
		await p.polls(1);
		const all = p.calls - from;
		for (let i = 0; i < 8; i++) {
			await q.goesOn(1);
			await p.goesOn(1);
		}
		assert.equal(p.session.sends + q.session.sends, 2, `at call ${n}`);
		delivered(world);
		if (n > all) {
			return;
		}
	}
});

test("what a session tells while it takes a message or aborts is lost, or comes between", async () => {
	using world = new World();
	const p = await owing(world, 2);
	const { send } = p.session;
	p.session.send = (message) => {
		p.host.activity();
		void p.host.poll();
		send.call(p.session, message);
		p.session.settle();
		void p.host.settled();
	};
	await p.polls(1);
	await p.goesOn(3);
	assert.equal(p.session.sends, 2);
	assert.deepEqual(p.errors, []);
	delivered(world);
});

test("a turn that settles late lets a message into the abort of the next one", async () => {
	using world = new World();
	const p = world.process();
	const runId = await p.start();
	p.session.settle();
	const settled = p.host.settled();
	p.session.startTurn();
	p.host.turns.abort({ runId, kind: "agentCancel", nodeId: "review", attemptId: "1" });
	await settled;
	const message = { customType: "pi-workflows-presentation", content: "text" };
	p.host.turns.natural({ runId, messageId: "m", resolution: "presentation", message });
	assert.deepEqual([p.session.sends, p.errors], [0, []]);
	await p.settle();
	assert.equal(p.session.sends, 1);
});
