// A model that does not do what it was told: it polls.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, makeLite, toolResults } from "./lite.ts";

test("polling in its own turn tells the model to end it, and starts nothing", async (t) => {
	const lite = makeLite(t);
	lite.workflow("greet", `steps: [{ name: 'act', run: () => mark('act') }]`);
	await using pi = await lite.startStopping(undefined); // which looks for work every 100 ms
	const status = { action: "status" };
	await pi.prompt(calls({ action: "start", name: "greet", input: {} }, status, status, status, "hold poll"));
	await pi.held("poll");
	const [started, ...polls] = toolResults(pi);
	const { runId } = started!.details;
	assert.equal(polls.length, 3);
	for (const { text, isError } of polls) {
		assert.ok(!isError);
		assert.match(
			text,
			/^Workflow greet is queued \(run \S+\), waiting for \d+s\. It starts when the current turn ends: end the turn, do not wait or poll\.$/,
		);
		assert.ok(text.includes(runId));
	}
	// By the user's command too, which is a look from outside the model's turn.
	const [shown] = await pi.command("/workflow status");
	assert.match(shown!, /is queued/);
	assert.deepEqual(lite.feed(runId), ["queued"]);
	assert.equal(lite.bundle(runId), undefined);
	assert.deepEqual(lite.marks(), ["import start"]);

	pi.release("poll");
	await lite.until(pi, runId, "done");
	assert.deepEqual(lite.feed(runId), ["queued", "starting", "running", "done"]);
	assert.deepEqual(lite.marks(), ["import start", `import ${runId}`, "act"]);
});
