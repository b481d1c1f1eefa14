// A run belongs to its session: it waits while another one is open, and goes on with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { writeFileSync } from "node:fs";
import { calls, makeLite, prompts, startRun, toolResults } from "./lite.ts";

test("a new session does not touch the run of the old one, which goes on when that is opened again", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", `steps: [{ name: 'act', run: () => mark('act') }, { name: 'say', prompt: () => 'say it' }]`);
	await using pi = await lite.start();
	const runId = await startRun(pi, "flow");
	await pi.waitUntil(() => prompts(pi).length === 1, "the prompt");
	const { sessionFile } = pi;

	await pi.request({ type: "new_session" });
	await pi.state();
	assert.deepEqual(await pi.command("/workflow status"), ["This session has no run."]);
	assert.deepEqual(await pi.command(`/workflow cancel ${runId}`).then(([text]) => text!.split(":")[0]), "not_owner");
	const other = await startRun(pi, "flow");
	await lite.until(pi, other, "running");

	await pi.request({ type: "switch_session", sessionPath: sessionFile });
	await pi.state();
	await pi.waitUntil(() => prompts(pi).length === 2, "the prompt again");
	assert.deepEqual(
		prompts(pi).map((prompt) => prompt.details.attemptId),
		["1", "2"],
	);
	await pi.turn(calls({ action: "submit", runId, step: "say", result: "said" }));
	await lite.until(pi, runId, "done");
	assert.equal(lite.marks().filter((mark) => mark === "act").length, 2);
	assert.deepEqual(lite.intents(pi.sessionId), []);
	assert.deepEqual(pi.extensionErrors(), []);
});

test("a store that is none is left alone, and every call says so", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", `steps: [{ name: 'act', run: () => 1 }]`);
	writeFileSync(lite.path("store.sqlite"), "something else");
	await using pi = await lite.start();
	await pi.turn(calls({ action: "list" }, { action: "start", name: "flow" }, { action: "submit", runId: "x", step: "say" }));
	assert.equal(toolResults(pi).length, 3);
	for (const { text, isError } of toolResults(pi)) {
		assert.ok(isError);
		assert.match(text, /^layout_incompatible: /);
	}
});
