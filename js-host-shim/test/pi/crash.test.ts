// A run that starts, and crashes before it has said anything to its agent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, followUps, makeLite, startRun, toolResults } from "./lite.ts";

test("a crash before the first prompt gives exactly one later turn", async (t) => {
	const lite = makeLite(t);
	lite.workflow(
		"crash",
		`steps: [
      { name: 'first', run: () => 1 },
      { name: 'fetch', run: () => { throw new Error('no answer from https://me:hunter2@example.org/x'); } },
      { name: 'say', prompt: () => 'never' },
    ]`,
	);
	await using pi = await lite.start();
	const runId = await startRun(pi, "crash");
	await lite.until(pi, runId, "failed");
	assert.deepEqual(lite.feed(runId), ["queued", "starting", "running", "failed"]);

	const { content, details } = await lite.told(pi);
	assert.equal(details.runId, runId);
	assert.equal(details.cause, "failed");
	assert.match(String(content), /no answer from/);
	assert.doesNotMatch(String(content), /hunter2|\.mjs|\bat /);
	const [intent] = lite.intents(pi.sessionId);
	assert.equal(intent!.nodeId, "$launch");
	assert.equal(intent!.resolution, "fallback");

	// Another turn brings no other message, and the run shows how far it came.
	await pi.turn(calls({ action: "status", runId }));
	assert.match(
		toolResults(pi).at(-1)!.text,
		/^Workflow crash failed \(run .*Finished steps: first\. Step begun: fetch/,
	);
	assert.equal(followUps(pi).length, 1);
	assert.equal(lite.intents(pi.sessionId).length, 1);
	assert.deepEqual(pi.extensionErrors(), []);
});
