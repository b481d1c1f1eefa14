// The steps of a run, one after the other, and over the end of a process.

import assert from "node:assert/strict";
import { test } from "node:test";
import { idle, makeLite, prompts, startRun, toolResults } from "./lite.ts";

const ask = (name: string) => `{ name: '${name}', prompt: ({ runId, results }) => {
  mark('${name}');
  return JSON.stringify({ action: 'submit', runId, step: '${name}', result: ['${name}', results] });
} }`;

test("prompts that follow each other all reach the agent, once", async (t) => {
	const lite = makeLite(t);
	lite.workflow(
		"chain",
		`steps: [${ask("one")}, { name: 'act', run: async () => undefined }, ${ask("two")}, ${ask("three")}]`,
	);
	await using pi = await lite.start();
	const runId = await startRun(pi, "chain");
	await lite.until(pi, runId, "done");
	await idle(pi);
	assert.deepEqual(
		prompts(pi).map((prompt) => prompt.details.nodeId),
		["one", "two", "three"],
	);
	const one = ["one", {}];
	const two = ["two", { one, act: null }];
	const finished = lite.bundle(runId).finished.map((each: { result: unknown }) => each.result);
	assert.deepEqual(finished, [one, null, two, ["three", { one, act: null, two }]]);
	assert.equal(toolResults(pi).length, 4);
	assert.deepEqual(lite.intents(pi.sessionId), []);
});

test("a result that is handed in twice is not that of the next step", async (t) => {
	const lite = makeLite(t);
	const twice = `{ name: 'one', prompt: ({ runId }) => {
		const call = JSON.stringify({ action: 'submit', runId, step: 'one', result: 1 });
		return call + '\\n' + call;
	} }`;
	lite.workflow("chain", `steps: [${twice}, ${ask("two")}]`);
	await using pi = await lite.start();
	const runId = await startRun(pi, "chain");
	await lite.until(pi, runId, "done");
	assert.deepEqual(
		lite.bundle(runId).finished.map((each: { result: unknown }) => each.result),
		[1, ["two", { one: 1 }]],
	);
	const refused = toolResults(pi).filter(({ isError }) => isError);
	assert.equal(refused.length, 1);
	assert.match(refused[0]!.text, /step two, not of one|no step here/);
});

test("an orderly end gives the run back, and the next process goes on at once", async (t) => {
	const lite = makeLite(t);
	lite.workflow("wait", `steps: [{ name: 'act', run: () => mark('act') }, { name: 'say', prompt: () => 'say it' }]`);
	await using pi = await lite.start();
	const runId = await startRun(pi, "wait");
	await pi.waitUntil(() => prompts(pi).length === 1, "the prompt");
	await idle(pi);
	assert.deepEqual(await pi.stop(), { code: 0, signal: null });
	assert.equal(lite.run(runId).status, "running");
	assert.ok(Date.parse(lite.run(runId).claimExpiresAt!) <= Date.now());

	await using next = await lite.start({ session: pi.sessionFile });
	await next.waitUntil(() => prompts(next).length === 2, "the prompt again");
	await next.turn(JSON.stringify({ action: "submit", runId, step: "say", result: "said" }));
	await lite.until(next, runId, "done");
	assert.deepEqual(
		lite.marks().filter((mark) => mark === "act"),
		["act"],
	);
	assert.deepEqual(lite.intents(next.sessionId), []);
	assert.equal(next.stderr, "");
});
