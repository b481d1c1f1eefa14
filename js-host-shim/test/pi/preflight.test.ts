// What is wrong with a start is told by the call that starts it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { calls, makeLite, toolResults } from "./lite.ts";

test("a start that cannot be is refused in its own call, and leaves no row", async (t) => {
	const lite = makeLite(t);
	lite.workflow(
		"greet",
		`check: ({ who }) => (who ? undefined : 'who is missing'), steps: [{ name: 'act', run: () => 1 }]`,
	);
	lite.workflow("strict", `check() { throw new TypeError('not that'); }, steps: [{ name: 'act', run: () => 1 }]`);
	lite.workflow("empty", "steps: []");
	writeFileSync(lite.path("workflows/broken.mjs"), "export default {");
	writeFileSync(lite.path("outside.mjs"), "export default {}");
	await using pi = await lite.start();

	const start = (name: string, input = {}) => ({ action: "start", name, input });
	const bad = [
		start("nope"),
		start("greet"),
		start("strict"),
		start("empty"),
		start("broken"),
		start("../outside"),
		{ action: "start" },
	];
	await pi.turn(calls(...bad));
	const results = toolResults(pi);
	assert.ok(results.every((result) => result.isError));
	const wanted = [
		/^workflow_not_found: there is no workflow nope; there are: broken, empty, greet, strict$/,
		/^input_invalid: who is missing$/,
		/^input_invalid: not that$/,
		/^workflow_invalid: empty.mjs: it must have steps$/,
		/^workflow_invalid: broken.mjs cannot be imported: /,
		/^workflow_not_found: /,
		/^name is missing$/,
	];
	assert.equal(results.length, wanted.length);
	for (const [i, pattern] of wanted.entries()) assert.match(results[i]!.text, pattern);
	assert.deepEqual(lite.runIds(), []);
	assert.deepEqual(lite.intents(pi.sessionId), []);
});

test("a second start in the same turn names the run in the way", async (t) => {
	const lite = makeLite(t);
	lite.workflow("greet", `steps: [{ name: 'act', run: () => 1 }]`);
	await using pi = await lite.start();
	const start = { action: "start", name: "greet", input: {} };
	await pi.turn(calls(start, start, { action: "list" }));
	const [first, second, list] = toolResults(pi);
	assert.equal(second!.isError, true);
	assert.match(second!.text, /^session_reserved: /);
	assert.ok(second!.text.includes(first!.details.runId));
	assert.equal(list!.text, "greet: a test");
	assert.deepEqual(lite.runIds(), [first!.details.runId]);
	await lite.until(pi, first!.details.runId, "done");
});
