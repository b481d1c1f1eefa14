// A store where nothing may be written: what can be read is read, and nothing appears beside it.
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { openStore, type Store } from "wfcore-host-shim";
import { alter, contents, fixture, open, place, refused, reservation } from "./temp.ts";

/** Root may write anywhere, so it runs as somebody else. */
function unprivileged(run: () => void): void {
	if (process.geteuid?.() !== 0) {
		return run();
	}
	process.seteuid!(65534);
	try {
		run();
	} finally {
		process.seteuid!(0);
	}
}

/** Runs while the directory of the store may not be written. */
function unwritable(path: string, run: () => void): void {
	chmodSync(dirname(path), 0o555);
	try {
		unprivileged(run);
	} finally {
		chmodSync(dirname(path), 0o700);
	}
}

const ways = { WAL: "", "a rollback journal": "PRAGMA journal_mode = DELETE" };

for (const [mode, statements] of Object.entries(ways)) {
	test(`a store with ${mode} is read in a directory that may not be written`, (t) => {
		const path = place(t, fixture("v1-populated"));
		const directory = dirname(path);
		openStore({ path }).close(); // which switches WAL on
		alter(path, statements);
		chmodSync(path, 0o444);
		const before = contents(directory);
		unwritable(path, () => {
			const store = open(t, { path, readOnly: true });
			assert.ok(store.listRuns({ limit: 9 }).length > 0);
			refused("store_misconfigured", () => store.reservePreparedRun(reservation("run")));
			store.close();
			refused("store_unavailable", () => openStore({ path }));
		});
		assert.deepEqual(contents(directory), before);
	});
}

test("what was read without locks is not read on once somebody writes", (t) => {
	const path = place(t, fixture("v1-populated"));
	openStore({ path }).close();
	chmodSync(path, 0o644);
	let store: Store;
	unwritable(path, () => {
		store = open(t, { path, readOnly: true });
		assert.ok(store.listRuns({ limit: 9 }).length > 0);
	});
	alter(path, "PRAGMA user_version = 7");
	assert.equal(refused("store_unavailable", () => store.listRuns({ limit: 9 })).retryable, true);
	unwritable(path, () => open(t, { path, readOnly: true }).listRuns({ limit: 9 }));
});

test("what may not be made is unavailable", (t) => {
	const path = place(t, new Uint8Array());
	unwritable(path, () => {
		for (const absent of ["other", "new/store"]) {
			refused("store_unavailable", () => openStore({ path: `${dirname(path)}/${absent}` }));
		}
	});
});
