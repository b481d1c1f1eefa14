// The store cannot be asked: what runs is stopped at the end of its lease, since another process may have it.
import assert from "node:assert/strict";

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openStore, WorkflowHost, type Stopped } from "wfcore-host-shim";
import { ScriptedEngine, ScriptedSession } from "wfcore-host-shim/testing";

const ways: Record<string, (path: string, database: DatabaseSync) => void> = {
	"its file is gone": (path) => rmSync(path),
	"its host holds a transaction": (_, database) => database.exec("BEGIN"),
	"its connection was closed": (_, database) => database.close(),
};

for (const [what, happens] of Object.entries(ways)) {
	test(`an engine acts past its lease where ${what}`, async () => {
		const directory = mkdtempSync(join(tmpdir(), "gone-"));
		const path = join(directory, "store");
		let now = Date.UTC(2026, 7, 21);
		openStore({ path }).close();
		const database = new DatabaseSync(path);
		database.exec("PRAGMA synchronous = FULL");
		const own = what === "its file is gone";
		const store = openStore({ ...(own ? { path } : { database }), now: () => now });
		const engine = new ScriptedEngine();
		const stopped: Stopped[] = [];
		engine.script = ({ signal }) =>
			new Promise((_, reject) => signal.addEventListener("abort", () => (stopped.push(signal.reason as Stopped), reject(signal.reason as Stopped))));
		const failed: unknown[] = [];
		const host = new WorkflowHost({ store, session: new ScriptedSession("s"), engine, failed: (error) => failed.push(error) });
		try {
			await host.start("flow", {});
			for (let i = 0; engine.acted.length === 0; i++) {
				assert.ok(i < 100);
				await host.poll();
			}
			happens(path, database);
			now += 20_000;
			await host.poll();
			assert.deepEqual(stopped, [], "the lease lives");
			now += 20_000;
			await host.poll();
			assert.deepEqual(stopped.map(({ why }) => why), ["claimLost"]);
		} finally {
			store.close();
			if (database.isOpen) {
				database.close();
			}
			rmSync(directory, { recursive: true });
		}
	});
}
