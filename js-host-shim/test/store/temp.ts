// What the tests of the store share.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { openStore, WfcoreError, type Code, type ReserveRequest, type Store, type StoreOptions } from "wfcore-host-shim";

/** A directory that goes with its test. */
export function temp(t: TestContext): string {
	const directory = realpathSync(mkdtempSync(join(tmpdir(), "store-")));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** A store that is closed with its test. */
export function open(t: TestContext, options: StoreOptions): Store {
	const store = openStore(options);
	t.after(() => store.close());
	return store;
}

/** A connection of another host, closed with its test. */
export function beside(t: TestContext, path: string): DatabaseSync {
	const database = new DatabaseSync(path, { timeout: 0 });
	t.after(() => database.isOpen && database.close());
	return database;
}

export function alter(path: string, statements: string): void {
	const database = new DatabaseSync(path);
	database.exec(statements);
	database.close();
}

export const fixture = (name: string) => join(import.meta.dirname, `../../../core/layout/testdata/fixtures/${name}.sqlite`);

/** Copies a file into a new directory, beside a run bundle. */
export function place(t: TestContext, from: string | Uint8Array): string {
	const directory = temp(t);
	mkdirSync(join(directory, "runs", "r1"), { recursive: true });
	writeFileSync(join(directory, "runs", "r1", "bundle.json"), '{"state":"running"}');
	const path = join(directory, "store");
	if (typeof from === "string") {
		copyFileSync(from, path);
	} else {
		writeFileSync(path, from);
	}
	return path;
}

/**
 * Every file under a directory, with what it holds, but for -shm, which is SQLite's scratch. Ask while
 * this process has no connection to one.
 */
export function contents(directory: string): Record<string, string> {
	const found: Record<string, string> = {};
	for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
		if (entry.name.endsWith("-shm")) {
			continue;
		}
		const path = join(entry.parentPath, entry.name);
		found[path] = entry.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
	}
	return found;
}

/** Runs what must fail with a code, and returns the error. */
export function refused(code: Code, run: () => unknown, what = ""): WfcoreError {
	try {
		run();
	} catch (error) {
		assert.ok(error instanceof WfcoreError, `${what}: ${(error as Error).stack}`);
		assert.equal(error.code, code, `${what}: ${error.message}`);
		return error;
	}
	assert.fail(`${what}: want ${code}, but nothing was thrown`);
}

/** Opens what must be refused, and finds all bytes beside it as they were. */
export function refusedUntouched(code: Code, options: StoreOptions & { path: string }, ...names: string[]): WfcoreError {
	const before = contents(dirname(options.path));
	const error = refused(code, () => openStore(options).close());
	assert.deepEqual(contents(dirname(options.path)), before);
	for (const name of names) {
		assert.ok(error.message.includes(name), `${name} is not in: ${error.message}`);
	}
	return error;
}

export function reservation(runId: string, session: string | null = null): ReserveRequest {
	const facts = { runId, workflowName: "w", workflowSourceRef: "builtin:w", workflowSource: {}, definitionDigest: "d" };
	return session === null ? facts : { ...facts, originSessionId: session };
}

/** One run from beginning to end. */
export function cycle(store: Store, runId: string): void {
	store.reservePreparedRun(reservation(runId, runId));
	store.claimPreparedRun({ runId, sessionId: runId, runnerId: "runner", claimToken: runId });
	store.markPreparedRunRunning({ runId, claimToken: runId });
	store.finishRunningRun({ runId, claimToken: runId, status: "done" });
}

export const pragma = (database: DatabaseSync, name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
