// What a caller gets wrong is named, and not taken for a fault of the store.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { nodeSqlite, openStore, WfcoreError, type Connection, type SqlValue, type StoreOptions } from "wfcore-host-shim";
import { temp } from "./temp.ts";

function refusal(options: object): WfcoreError {
	try {
		openStore(options as StoreOptions).close();
	} catch (error) {
		assert.ok(error instanceof WfcoreError, String(error));
		return error;
	}
	return assert.fail("it was opened");
}

test("an option that is none is taken for nothing", (t) => {
	const path = join(temp(t), "store");
	const { code, details } = refusal({ path, readonly: true });
	assert.deepEqual([code, details], ["bad_request", { field: "readonly" }]);
});

test("an adapter that is none fails later", () => {
	using database = new DatabaseSync(":memory:");
	const good = nodeSqlite(database);
	const all = (rows: (args: readonly SqlValue[]) => unknown): Connection => ({
		...good,
		prepare: () => ({ all: rows as () => SqlValue[][] }),
	});
	const { prepare: _, ...without } = good;
	for (const [unfit, words] of [
		[{}, /no method prepare/],
		[without, /no method prepare/],
		[all(() => [{ 1: 1n }]), /arrays/],
		[all(async () => [[1n, "x", null]]), /at once/],
		[all(() => [[1, "x", null]]), /bigint/],
		[all(() => [[1n, null, null]]), /arguments/],
	] as const) {
		const { code, message } = refusal({ database: unfit });
		assert.equal(code, "bad_request");
		assert.match(message, words);
	}
	openStore({ database: good }).close();
});

test("the file that is not of the layout is not named", (t) => {
	const path = join(temp(t), "store");
	using database = new DatabaseSync(path);
	database.exec("CREATE TABLE workflow_run_queue (x)");
	const { code, message, details } = refusal({ path });
	assert.deepEqual([code, details["path"]], ["layout_incompatible", path]);
	assert.ok(message.startsWith(`${path}: not a v1 controller store`));
});
