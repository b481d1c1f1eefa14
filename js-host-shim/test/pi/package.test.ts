// The package as it is written, and the files that it makes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { calls, makeLite, modules, prompts, startRun, toolResults } from "./lite.ts";

test("the package is typed against the published shim", (t) => {
	const lite = makeLite(t);
	for (const name of ["@earendil-works", "@types", "typebox"]) {
		symlinkSync(join(modules, name), join(lite.dir, "node_modules", name));
	}
	const tsc = join(modules, "typescript/bin/tsc");
	execFileSync(process.execPath, [tsc, "-p", lite.dir], { stdio: ["ignore", "inherit", "inherit"] });
});

test("what it keeps is for the user alone, and it ends without a word", async (t) => {
	const lite = makeLite(t);
	lite.workflow("flow", `steps: [{ name: 'act', run: () => 1 }]`);
	await using pi = await lite.start();
	const runId = await startRun(pi, "flow", { private: "apples" });
	await lite.until(pi, runId, "done");
	const mode = (...path: string[]) => statSync(lite.path(...path)).mode & 0o777;
	assert.deepEqual(readdirSync(lite.path("runs")), [`${runId}.json`]);
	assert.deepEqual([mode("runs"), mode("runs", `${runId}.json`), mode("store.sqlite")], [0o700, 0o600, 0o600]);
	assert.deepEqual(pi.notices(), []);
	assert.deepEqual(await pi.stop(), { code: 0, signal: null });
	assert.equal(pi.stderr, "");
});

test("the workflow of its README runs", async (t) => {
	const lite = makeLite(t);
	const [, example] = /^```js\n(.*?)^```/ms.exec(readFileSync(join(lite.dir, "README.md"), "utf8"))!;
	mkdirSync(lite.path("workflows"), { recursive: true });
	writeFileSync(lite.path("workflows/greet.mjs"), example!);
	await using pi = await lite.start();
	await pi.turn(calls({ action: "start", name: "greet", input: {} }));
	assert.equal(toolResults(pi)[0]!.text, "input_invalid: who must be a text");
	const runId = await startRun(pi, "greet", { who: "the world" });
	await pi.waitUntil(() => prompts(pi).length === 1, "the prompt");
	assert.match(String(prompts(pi)[0]!.content), /^Write a greeting for the world\./);
	await pi.turn(calls({ action: "submit", runId, step: "say", result: "hello" }));
	await lite.until(pi, runId, "done");
});
