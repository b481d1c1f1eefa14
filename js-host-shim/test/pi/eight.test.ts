// A start whose workflow changes before the turn is over, from the model's first call to its second start.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { calls, followUps, makeLite, prompts, toolResults } from "./lite.ts";
import { textOf } from "./model.ts";

const greet = (version: number) => `
  check: ({ who }) => (typeof who === 'string' ? undefined : 'who is missing'),
  steps: [
    { name: 'look', run: ({ input }) => { mark('look ${version} ' + input.who); return ${version}; } },
    { name: 'say', prompt: ({ results }) => 'Say hello, version ' + results.look },
  ]`;

test("a launch that fails after the turn is told once, corrected, and can still be inspected", async (t) => {
	const lite = makeLite(t);
	lite.workflow("greet", greet(1));
	await using pi = await lite.start({ model: join(import.meta.dirname, "eight.model.ts") });

	// 1. The model starts the workflow, and is answered at once: queued, with the run's id.
	await pi.prompt(calls({ action: "start", name: "greet", input: { who: "world" } }, "hold answer"));
	await pi.held("answer");
	const [started] = toolResults(pi);
	const first = started!.details.runId;
	assert.match(first, /^\d{8}T\d{6}Z-greet-[0-9a-f]{8}$/);
	assert.deepEqual(started!.details, { action: "start", workflow: "greet", runId: first, queued: true });
	assert.ok(started!.text.startsWith(`Workflow greet queued (run ${first}).`));
	assert.match(started!.text, /end the turn, do not wait or poll/);

	// 2. The run is durable by then, and nothing has been built.
	assert.equal(lite.run(first).status, "queued");
	assert.equal(lite.run(first).originSessionId, pi.sessionId);
	assert.deepEqual(lite.feed(first), ["queued"]);
	assert.equal(lite.bundle(first), undefined);

	// 3. The source changes before the turn settles.
	lite.workflow("greet", greet(2));
	pi.release("answer");

	// 4. The launch fails, and nothing of it has acted.
	await lite.until(pi, first, "failed");
	assert.equal(lite.run(first).errorCode, "source_changed");
	assert.deepEqual(lite.feed(first), ["queued", "starting", "launch_failed"]);
	assert.ok(!existsSync(lite.path("runs", `${first}.json`)));

	// 5. Exactly one later turn tells the model, with the safe error.
	const message = await lite.told(pi);
	const told = pi.requests().find((request) => textOf(request.messages.at(-1)) === message.content);
	assert.ok(told);
	assert.ok(String(message.content).includes(`Workflow greet failed to start (run ${first})`));
	assert.match(String(message.content), /source.*changed/i);
	assert.doesNotMatch(String(message.content), /world|\.pi\/|\bat /);

	// 6. The model looks at the first run, and starts the workflow again, in that turn.
	const [, inspected, again] = toolResults(pi);
	assert.ok(inspected!.text.startsWith(`Workflow greet failed to start (run ${first}): `));
	const second = again!.details.runId;
	assert.notEqual(second, first);

	// 7. The new run reaches its first step, and goes on to its prompt.
	await pi.waitUntil(() => prompts(pi).length > 0, "the prompt of the second run");
	assert.ok(lite.marks().includes("look 2 world"));
	assert.ok(!lite.marks().includes("look 1 world"));
	assert.equal(lite.run(second).status, "running");
	assert.ok(String(prompts(pi)[0]!.content).startsWith("Say hello, version 2"));

	// 8. The first run can still be inspected.
	const [shown] = await pi.command(`/workflow status ${first}`);
	assert.ok(shown!.startsWith(`Workflow greet failed to start (run ${first}): `));
	assert.deepEqual(lite.runIds(), [second, first]);
	assert.equal(followUps(pi).length, 1);
	assert.equal(lite.intents(pi.sessionId).length, 1);
	assert.deepEqual(pi.extensionErrors(), []);
});
