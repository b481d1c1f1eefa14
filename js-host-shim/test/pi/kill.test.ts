// kill -9 of Pi, and what its next process makes of it: one outcome, and one message.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { Pi } from "./harness.ts";
import { calls, followUps, idle, makeLite, prompts, startRun, toolResults } from "./lite.ts";
import type { Lite } from "./lite.ts";

const flow = (version = 1) => `steps: [
  { name: 'act', run: () => { mark('act'); return ${version}; } },
  { name: 'say', prompt: ({ runId }) => JSON.stringify({ action: 'submit', runId, step: 'say', result: 'hello' }) },
]`;

// The model starts the flow, and holds the end of its turn.
async function startHeld(t: TestContext, lite: Lite, stopAt?: string): Promise<{ pi: Pi; runId: string }> {
	lite.workflow("flow", flow());
	const pi = await lite.startStopping(stopAt);
	t.after(() => pi.dispose());
	await pi.prompt(calls({ action: "start", name: "flow", input: {} }, "hold answer"));
	await pi.held("answer");
	return { pi, runId: toolResults(pi)[0]!.details.runId };
}

async function again(lite: Lite, pi: Pi): Promise<Pi> {
	const next = await lite.startStopping(undefined, { session: pi.sessionFile });
	assert.equal(next.sessionId, pi.sessionId);
	return next;
}

const acts = (lite: Lite) => lite.marks().filter((mark) => mark === "act").length;

async function goesOnOnce(lite: Lite, pi: Pi, runId: string): Promise<void> {
	await lite.until(pi, runId, "done");
	await idle(pi);
	await pi.turn(calls({ action: "status", runId }));
	assert.match(toolResults(pi).at(-1)!.text, /^Workflow flow is done .*Finished steps: act, say\.$/);
	const types = lite.feed(runId);
	assert.deepEqual(
		[types.at(0), types.filter((type) => type === "running").length, types.at(-1)],
		["queued", 1, "done"],
	);
	assert.equal(acts(lite), 1);
	assert.equal(prompts(pi).length, 1);
	assert.equal(followUps(pi).length, 0);
	assert.deepEqual(lite.intents(pi.sessionId), []);
	assert.deepEqual(lite.runIds(), [runId]);
	assert.deepEqual(pi.extensionErrors(), []);
}

test("after the acknowledgement, before the turn settles", async (t) => {
	const lite = makeLite(t);
	const { pi, runId } = await startHeld(t, lite);
	await pi.kill();
	assert.deepEqual(lite.feed(runId), ["queued"]);
	await using next = await again(lite, pi);
	await goesOnOnce(lite, next, runId);
});

const activation: [where: string, point: string, left: { status: string; bundle: boolean; feed: string[] }][] = [
	[
		"after the claim",
		"claimNextRun:after",
		{ status: "starting", bundle: false, feed: ["requeued", "starting", "running", "done"] },
	],
	[
		"after the bundle",
		"markPreparedRunRunning:before",
		{ status: "starting", bundle: true, feed: ["running", "claim_transferred", "done"] },
	],
	[
		"right after the fence",
		"markPreparedRunRunning:after",
		{ status: "running", bundle: true, feed: ["claim_transferred", "done"] },
	],
	["before its prompt shows", "send:after", { status: "running", bundle: true, feed: ["claim_transferred", "done"] }],
	[
		"before its end is stored",
		"finishRunningRun:before",
		{ status: "running", bundle: true, feed: ["claim_transferred", "done"] },
	],
];
for (const [where, point, left] of activation) {
	test(`at activation: ${where}`, async (t) => {
		const lite = makeLite(t);
		const { pi, runId } = await startHeld(t, lite, point);
		pi.release("answer");
		await pi.killAt();
		const killed = lite.run(runId);
		const feed = lite.feed(runId);
		assert.equal(killed.status, left.status);
		assert.equal(lite.bundle(runId) !== undefined, left.bundle);
		if (left.status === "starting") assert.match(killed.line, /is starting \(run/);
		await using next = await again(lite, pi);
		await goesOnOnce(lite, next, runId);
		assert.deepEqual(lite.feed(runId), [...feed, ...left.feed]);
	});
}

async function tellsOnce(t: TestContext, point: string): Promise<void> {
	const lite = makeLite(t);
	const { pi, runId } = await startHeld(t, lite, point);
	lite.workflow("flow", flow(2));
	pi.release("answer");
	await pi.killAt();
	await using next = await again(lite, pi);
	await lite.until(next, runId, "failed");
	assert.equal(lite.run(runId).errorCode, "source_changed");
	const { details } = await lite.told(next);
	assert.equal(details.runId, runId);
	await next.turn("hello");
	await next.kill();

	// A third process finds nothing to do, and the session works.
	await using third = await again(lite, next);
	lite.workflow("flow", flow(3));
	const other = await startRun(third, "flow");
	await lite.until(third, other, "done");
	assert.equal(followUps(third).length, 1);
	assert.equal(lite.intents(third.sessionId).length, 1);
	assert.equal(lite.feed(runId).filter((type) => type === "launch_failed").length, 1);
	assert.equal(acts(lite), 1);
}

for (const [where, point] of [
	["before the failure is stored", "failPreparedRun:before"],
	["after the failure is stored", "failPreparedRun:after"],
	["after its turn is claimed", "claimEligibleWorkflowTurnIntentsForSession:after"],
	["between the check of the claim and the send", "send:before"],
	["after the send", "send:after"],
	["between the send and its confirmation", "resolveWorkflowTurnIntent:before"],
	["after its confirmation", "resolveWorkflowTurnIntent:after"],
] as const) {
	test(`a failed launch is told once: ${where}`, (t) => tellsOnce(t, point));
}
