// What bindPi does where Pi's events meet a store that cannot be opened. All else is tried in the real Pi.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openStore, WfcoreError } from "wfcore-host-shim";
import { bindPi } from "wfcore-host-shim/pi";
import { ScriptedEngine } from "wfcore-host-shim/testing";

type Handler = (event: unknown, ctx: unknown) => unknown;

test("a store that could not be opened at the start is not tried again", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const directory = mkdtempSync(join(tmpdir(), "pi-"));
	t.after(() => rmSync(directory, { recursive: true }));
	const path = join(directory, "store");
	using before = openStore({ path });
	before.reservePreparedRun({
		runId: "r", workflowName: "flow", workflowSourceRef: "builtin:flow", workflowSource: {}, definitionDigest: "sha256:scripted", originSessionId: "s",
	});

	const handlers = new Map<string, Handler>();
	const notices: string[] = [];
	const ctx = {
		isIdle: () => true,
		hasPendingMessages: () => false,
		sessionManager: { getSessionId: () => "s", getEntries: () => [] },
		ui: { notify: (text: string) => notices.push(text) },
	};
	const engine = new ScriptedEngine();
	let tries = 0;
	const pi = { on: (event: string, handler: Handler) => handlers.set(event, handler), sendMessage: () => assert.fail("nothing is owed") };
	bindPi(pi as unknown as Parameters<typeof bindPi>[0], {
		engine: () => engine,
		openStore() {
			if (tries++ < 3) {
				throw new WfcoreError("store_unavailable", "the store is busy");
			}
			return openStore({ path });
		},
	});

	await handlers.get("session_start")!({}, ctx);
	for (let i = 0; engine.acted.length === 0; i++) {
		assert.ok(i < 100, "nothing starts");
		t.mock.timers.tick(3000);
		await new Promise(setImmediate);
	}
	assert.deepEqual(engine.acted, ["r"]);
	assert.deepEqual(notices, ["workflows: the store is busy"], "it is told once");
	await handlers.get("session_shutdown")!({}, ctx);
	t.mock.timers.tick(30_000);
	assert.equal(tries, 4, "a session that is closed is left alone");
});
