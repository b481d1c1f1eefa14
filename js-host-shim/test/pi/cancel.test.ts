// Whose act the end of an agent's step was decides whether its agent is told later.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, followUps, makeLite, prompts, startRun, toolResults } from "./lite.ts";

const step = (prompt: string, more = "") => `steps: [
  { name: 'act', run: () => 1 },
  { name: 'say', prompt: () => ${JSON.stringify(prompt)}, ${more} },
]`;

test("an agent that cancels in its own step is stopped, and told later", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", step(calls({ action: "cancel" }, { action: "list" })));
	await using pi = await lite.start();
	const runId = await startRun(pi, "flow");
	await lite.until(pi, runId, "cancelled");
	await pi.waitFor((event) => event.type === "agent_settled" && event.aborted, "the aborted turn");

	const message = await lite.told(pi);
	assert.equal(message.details.cause, "agentCancelled");
	const [, cancelled, ...others] = toolResults(pi);
	assert.match(cancelled!.text, /^Workflow flow is cancelled/);
	assert.deepEqual(others, []);
	assert.equal(lite.bundle(runId).state, "cancelled");
	const [intent, ...more] = lite.intents(pi.sessionId);
	assert.deepEqual([intent!.nodeId, intent!.attemptId, intent!.resolution], ["say", "1", "fallback"]);
	assert.deepEqual(more, []);
	await pi.turn("hello");
	assert.equal(followUps(pi).length, 1);
});

test("a user who cancels by the command owes the agent nothing", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", step(calls("hold say")));
	await using pi = await lite.start();
	const runId = await startRun(pi, "flow");
	await pi.held("say");
	const from = pi.mark();
	assert.deepEqual(await pi.command("/workflow cancel"), [`Workflow flow is cancelled (run ${runId}).`]);
	assert.equal(lite.bundle(runId).state, "cancelled");
	pi.release("say");
	assert.equal((await pi.settled(from)).aborted, false);
	await pi.turn(calls({ action: "submit", runId, step: "say", result: 1 }));
	assert.equal(toolResults(pi).at(-1)!.isError, true);
	assert.deepEqual(lite.feed(runId), ["queued", "starting", "running", "cancelled"]);
	assert.deepEqual(lite.intents(pi.sessionId), []);
	assert.deepEqual([prompts(pi).length, followUps(pi).length], [1, 0]);
});

test("a step that takes too long is stopped, and its agent told later", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", step(calls("hold late"), "timeoutMs: 2000"));
	await using pi = await lite.start();
	const runId = await startRun(pi, "flow");
	await pi.held("late");
	await pi.waitFor((event) => event.type === "agent_settled" && event.aborted, "the aborted turn");
	const run = await lite.until(pi, runId, "failed");
	assert.equal(run.errorCode, "timed_out");
	const message = await lite.told(pi);
	assert.equal(message.details.cause, "timedOut");
	assert.match(String(message.content), /2000 ms/);
	assert.equal(lite.bundle(runId).error.code, "timed_out");
	assert.equal(lite.intents(pi.sessionId).length, 1);
});

test("the command says what it takes, and starts at once outside a turn", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", `steps: [{ name: 'act', run: ({ input }) => input }]`);
	await using pi = await lite.start();
	for (const bad of ["", "begin", "start", "status a b", "cancel a b"]) {
		const [said] = await pi.command(`/workflow ${bad}`);
		assert.match(said!, /^usage: \/workflow start NAME \[JSON\]/);
	}
	const [notJson] = await pi.command("/workflow start flow {");
	assert.match(notJson!, /^the input is not JSON: .*\nusage: /s);
	assert.deepEqual(await pi.command("/workflow status"), ["This session has no run."]);
	assert.deepEqual(await pi.command("/workflow cancel nobody"), ["not_found: there is no run nobody"]);
	const [started] = await pi.command('/workflow start flow {"a": 1}');
	const runId = /\(run (\S+)\)/.exec(started!)![1]!;
	await lite.until(pi, runId, "done");
	assert.deepEqual(lite.bundle(runId).finished, [{ step: "act", result: { a: 1 } }]);
	assert.equal(pi.requests().length, 0);
});
