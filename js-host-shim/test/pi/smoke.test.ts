// The harness itself: what the other tests in real Pi stand on.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeWorld, runPi, startPi } from "./harness.ts";
import type { Entry, StartOptions, World } from "./harness.ts";
import { textOf } from "./model.ts";

const here = import.meta.dirname;

function smoke(world: World, more: Partial<StartOptions> = {}): StartOptions {
	return {
		home: world.home,
		cwd: world.cwd,
		packages: [join(here, "smoke.extension.ts")],
		model: join(here, "smoke.model.ts"),
		...more,
	};
}

function said(entries: Entry[]): string[] {
	return entries.flatMap((entry) => (entry.message?.role === "assistant" ? [textOf(entry.message)] : []));
}

test("a message sent from agent_settled starts a turn, and outlives kill -9", async (t) => {
	const world = makeWorld();
	t.after(() => world.remove());
	await using pi = await startPi(smoke(world));
	assert.match(await runPi(world.home, world.cwd, ["list"]), /smoke\.extension\.ts/);

	await pi.turn("note apples");
	await pi.waitUntil(() => said(pi.entries()).includes("told of apples"), "the second turn");
	const [entry, ...others] = pi.customMessages("smoke");
	assert.deepEqual(others, []);
	assert.equal(entry?.content, "later: apples");
	assert.deepEqual(entry?.details, { word: "apples" });
	assert.deepEqual(said(pi.entries()), ["", "the tool said: noted apples", "told of apples"]);
	assert.equal(pi.requests().length, 3);
	assert.deepEqual(
		pi.requests().map((request) => textOf(request.messages.at(-1))),
		["note apples", "noted apples", "later: apples"],
	);
	await pi.kill();
	assert.equal(pi.exit?.signal, "SIGKILL");

	await using again = await startPi(smoke(world, { session: pi.sessionFile }));
	assert.equal(again.sessionId, pi.sessionId);
	assert.deepEqual(await again.command("/session id"), [`id ${pi.sessionId}`]);
	assert.deepEqual(again.customMessages("smoke"), [entry]);
	const { entries } = await again.request({ type: "get_entries" });
	assert.ok(entries.some((each: Entry) => each.id === entry?.id));
	assert.deepEqual(again.extensionErrors(), []);
	assert.deepEqual(await again.stop(), { code: 0, signal: null });
	assert.equal(again.stderr, "");
});

test("the process is killed at a named point", async (t) => {
	const world = makeWorld();
	t.after(() => world.remove());
	await using pi = await startPi(
		smoke(world, { extensions: [join(here, "stop.ts")], stopAt: "event:message_end:smoke" }),
	);
	await pi.prompt("note pears");
	await pi.killAt();
	assert.deepEqual(said(pi.entries()), ["", "the tool said: noted pears"]);
	assert.deepEqual(pi.customMessages("smoke"), []); // it was sent, and is lost

	await using again = await startPi(smoke(world, { session: pi.sessionFile }));
	assert.equal(again.sessionId, pi.sessionId);
	assert.deepEqual(again.customMessages("smoke"), []);
});

test("the model holds its answer until it is released, or its turn is aborted", async (t) => {
	const world = makeWorld();
	t.after(() => world.remove());
	await using pi = await startPi(smoke(world));
	const from = pi.mark();
	await pi.prompt("hello");
	await pi.held("talk");
	assert.equal((await pi.state()).isStreaming, true);
	await pi.request({ type: "abort" });
	assert.equal((await pi.settled(from)).aborted, true);
	pi.release("talk");
	assert.equal((await pi.turn("hello")).aborted, false);
	assert.deepEqual(said(pi.entries()), ["", "nothing to do"]);
});

test("a wait that fails tells what was seen", async (t) => {
	const world = makeWorld();
	t.after(() => world.remove());
	await using pi = await startPi(smoke(world));
	await assert.rejects(
		pi.waitFor((event) => event.type === "never", "a miracle", { timeout: 50 }),
		/not seen in 50 ms: a miracle\nevents:\n.*get_state/s,
	);
	await pi.kill();
	await assert.rejects(pi.settled(), /Pi ended .*SIGKILL.* before: agent_settled/);
	assert.ok(existsSync(world.home));
});
