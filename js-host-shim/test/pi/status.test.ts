// Every state of a launch can be shown, before there is a bundle and after.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { writeFileSync } from "node:fs";
import { openStore } from "../../dist/index.js";
import { calls, idle, makeLite, prompts, startRun, toolResults } from "./lite.ts";
import type { Lite } from "./lite.ts";
import type { Pi } from "./harness.ts";

// Building and the first step wait until the test makes a file.
function gated(lite: Lite): void {
	const gate = (name: string) => JSON.stringify(join(lite.world.dir, name));
	lite.workflow(
		"slow",
		`steps: [
      { name: 'act', run: () => opened(${gate("act")}) },
      { name: 'say', prompt: ({ runId }) => '{"action":"status"}\\nhold say' },
    ] };
    import { existsSync } from 'node:fs';
    async function opened(gate) { while (!existsSync(gate)) await new Promise((next) => setTimeout(next, 5)); }
    if (new URL(import.meta.url).searchParams.get('purpose') !== 'start') await opened(${gate("build")});
    export const end = {`,
	);
}

async function status(pi: Pi, runId = ""): Promise<string> {
	const [text] = await pi.command(`/workflow status ${runId}`);
	return text ?? "";
}

test("queued, starting, running, cancelled and done", async (t) => {
	const lite = makeLite(t);
	gated(lite);
	await using pi = await lite.start();
	const open = (gate: string) => writeFileSync(join(lite.world.dir, gate), "");
	const finish = calls("hold answer");

	await pi.prompt(calls({ action: "start", name: "slow", input: {} }, { action: "status" }, finish));
	await pi.held("answer");
	const [started, queued] = toolResults(pi);
	const { runId } = started!.details;
	const head = (verb: string, id = runId) => `Workflow slow ${verb} (run ${id})`;
	assert.ok(queued!.text.startsWith(`${head("is queued")}, waiting for `));
	assert.equal(lite.bundle(runId), undefined);
	assert.deepEqual(lite.feed(runId), ["queued"]);
	assert.deepEqual(lite.marks(), ["import start"]); // the check of its input, and no build

	pi.release("answer");
	await lite.until(pi, runId, "starting");
	assert.equal(await status(pi), `${head("is starting")}; its first step has not run.`);
	assert.equal(lite.bundle(runId), undefined);

	open("build");
	await lite.until(pi, runId, "running");
	await pi.waitUntil(() => lite.bundle(runId).active !== null, "the first step");
	assert.equal(await status(pi), `${head("is running")}. Finished steps: none. Step begun: act (attempt 1).`);

	open("act");
	await pi.held("say"); // in the turn of its prompt, the model looks too
	const running = `${head("is running")}. Finished steps: act. Step begun: say (attempt 1).`;
	assert.equal(toolResults(pi).at(-1)!.text, running);
	await pi.command("/workflow cancel");
	assert.equal(await status(pi, runId), `${head("is cancelled")}. Finished steps: act. Step begun: say (attempt 1).`);
	pi.release("say");
	await idle(pi);

	lite.workflow("slow", `steps: [{ name: 'act', run: () => 1 }]`);
	const done = await startRun(pi, "slow");
	await lite.until(pi, done, "done");
	assert.equal(await status(pi), `${head("is done", done)}. Finished steps: act.`);
	assert.equal(prompts(pi).length, 1);
});

test("failed, cancelled and parked without a bundle", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", `steps: [{ name: 'act', run: () => 1 }]`);
	await using pi = await lite.start();
	assert.equal(await status(pi), "This session has no run.");

	await pi.prompt(
		calls(
			{ action: "start", name: "flow", input: {} },
			{ action: "cancel" },
			{ action: "start", name: "flow" },
			"hold one",
		),
	);
	await pi.held("one");
	const [first, cancelled, second] = toolResults(pi).map((result) => result.details.runId);
	assert.equal(cancelled, first);
	assert.equal(await status(pi, first), `Workflow flow is cancelled (run ${first}).`);
	lite.workflow("flow", `steps: [{ name: 'act', run: () => 2 }]`);
	pi.release("one");
	await lite.until(pi, second, "failed");
	assert.match(await status(pi), /^Workflow flow failed to start \(run \S+\): The workflow source changed/);
	await lite.told(pi);

	// Another host parks a run of the session, while a turn keeps this one from work.
	await pi.prompt(calls("hold two"));
	await pi.held("two");
	parkedRun(lite, pi.sessionId);
	assert.equal(await status(pi), "Workflow flow is parked (run parked-1); it goes on when it is resumed.");
	assert.deepEqual(
		[first, second, "parked-1"].map((id) => lite.bundle(id)),
		[undefined, undefined, undefined],
	);
	assert.deepEqual(await pi.command("/workflow cancel"), ["Workflow flow is cancelled (run parked-1)."]);
	pi.release("two");
});

function parkedRun(lite: Lite, sessionId: string): void {
	using store = openStore({ path: lite.path("store.sqlite"), existing: true });
	const runId = "parked-1";
	const definitionDigest = "sha256:1";
	store.reservePreparedRun({
		...{ runId, workflowName: "flow", definitionDigest, input: null, originSessionId: sessionId },
		...{ workflowSourceRef: "builtin:flow", workflowSource: { id: "flow" } },
	});
	const { claimToken } = store.claimPreparedRun({ runId, sessionId, runnerId: "other" });
	store.markPreparedRunRunning({ runId, claimToken: claimToken!, definitionDigest });
	store.parkRunningRun({ runId, claimToken: claimToken! });
}
