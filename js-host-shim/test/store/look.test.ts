// An existing file is looked at before anything is written: what is refused keeps its bytes.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, symlinkSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { openStore } from "wfcore-host-shim";
import { alter, beside, contents, cycle, fixture, open, place, refused, refusedUntouched, reservation, temp } from "./temp.ts";

const accepted = ["v1-empty", "v1-populated", "alpha-launch-failure-delivered"];
const refusals = {
	"alpha-launch-failure-pending": "1 pending launch_failure notification",
	"foreign-schema-id": "pi-workflows.controller-store.v2",
	"old-alpha-queue": "column workflow_source_json is missing",
};
const ways = [{ readOnly: false }, { readOnly: true }];
const advice = ["reserve the run bundles", "reset the project's controller store"];

/** Every row of every table. */
function dump(path: string): Record<string, unknown[]> {
	using database = new DatabaseSync(path, { readOnly: true });
	const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'").all();
	return Object.fromEntries(tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}" ORDER BY rowid`).all()]));
}

for (const how of ways) {
	const way = how.readOnly ? "read" : "write";
	for (const name of accepted) {
		test(`${name} opens to ${way}, and keeps its rows`, (t) => {
			const path = place(t, fixture(name));
			const before = dump(path);
			if (!how.readOnly) {
				before.workflow_turn_intents ??= []; // it is made
			}
			const store = open(t, { path, ...how });
			assert.equal(typeof store.listRuns({ limit: 10 }).length, "number");
			store.close();
			assert.deepEqual(dump(path), before);
		});
	}
	for (const [name, difference] of Object.entries(refusals)) {
		test(`${name} is refused to ${way}`, (t) => {
			const error = refusedUntouched("layout_incompatible", { path: place(t, fixture(name)), ...how }, difference, ...advice);
			assert.equal(error.retryable, false);
			assert.ok(Array.isArray(error.details.differences));
		});
		test(`${name} with a -wal is refused to ${way}`, (t) => {
			refusedUntouched("layout_incompatible", { path: left(t, name, somethingElse), ...how }, difference);
		});
	}
	for (const [name, bytes] of Object.entries(noStores())) {
		test(`${name} is refused to ${way}`, (t) => {
			refusedUntouched("layout_incompatible", { path: place(t, bytes), ...how }, ...advice);
		});
	}
	test(`what the -wal changes is seen to ${way}`, (t) => {
		for (const [difference, statements] of Object.entries({
			"index workflow_run_queue_claimable is missing": "DROP INDEX workflow_run_queue_claimable",
			"pi-workflows.controller-store.v3": "UPDATE schema_info SET schema_id = 'pi-workflows.controller-store.v3'",
			"table workflow_run_queue": "ALTER TABLE workflow_run_queue ADD COLUMN more TEXT",
		})) {
			refusedUntouched("layout_incompatible", { path: left(t, "v1-populated", statements), ...how }, difference);
		}
		const delivered = "UPDATE workflow_notifications SET delivered_at = '2026-08-21T08:00:00.000Z'";
		open(t, { path: left(t, "alpha-launch-failure-pending", delivered), ...how });
	});
	test(`behind a link the -wal of the target is seen to ${way}`, (t) => {
		const target = left(t, "v1-populated", "UPDATE schema_info SET schema_id = 'v3'");
		const link = join(temp(t), "link");
		symlinkSync(target, link);
		const before = contents(dirname(target));
		refused("layout_incompatible", () => openStore({ path: link, ...how }));
		assert.deepEqual(contents(dirname(target)), before);
	});
	test(`a file in use is refused to ${way}, and its host goes on`, (t) => {
		const path = place(t, fixture("foreign-schema-id"));
		const host = beside(t, path);
		host.exec(`PRAGMA journal_mode = WAL; ${somethingElse}`);
		host.exec("BEGIN IMMEDIATE; INSERT INTO diary VALUES ('tuesday')");
		refused("layout_incompatible", () => openStore({ path, ...how }));
		host.exec("COMMIT");
		assert.equal(host.prepare("SELECT * FROM diary").all().length, 2);
	});
	test(`a refused file keeps its hot journal to ${way}`, (t) => {
		refusedUntouched("layout_incompatible", { path: hot(t, "alpha-launch-failure-pending"), ...how });
	});
}

const somethingElse = "CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('monday')";

function noStores(): Record<string, Uint8Array> {
	const v1 = readFileSync(fixture("v1-populated"));
	const cuts = [1, 16, 100, 512, 4096, 4097, v1.length / 2, v1.length - 4096, v1.length - 1];
	return {
		"a text": Buffer.from(`Dear diary,\nthis is no database.\n${"x".repeat(5000)}`),
		"a newline": Buffer.from("\n"),
		zeros: Buffer.alloc(8192),
		...Object.fromEntries(cuts.map((length) => [`a file cut at ${length}`, v1.subarray(0, length)])),
	};
}

/** A fixture as a process that was killed leaves it: with a -wal that holds what the statements wrote. */
function left(t: TestContext, name: string, statements: string): string {
	const path = place(t, fixture(name));
	alter(path, "PRAGMA journal_mode = WAL");
	return copyWhile(t, path, "-wal", `PRAGMA wal_autocheckpoint = 0; ${statements}`);
}

/** A fixture whose writer was killed in rollback mode, after it wrote to the file. */
function hot(t: TestContext, name: string): string {
	const path = place(t, fixture(name));
	alter(path, "PRAGMA journal_mode = DELETE; CREATE TABLE diary (entry)");
	return copyWhile(t, path, "-journal", `PRAGMA cache_size = 5; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
		INSERT INTO diary SELECT randomblob(2000) FROM n`);
}

function copyWhile(t: TestContext, live: string, suffix: string, statements: string): string {
	const writer = beside(t, live);
	writer.exec(statements);
	const path = place(t, live);
	copyFileSync(live + suffix, path + suffix);
	writer.close();
	return path;
}

test("a v1 file with a hot journal opens without what was never committed", (t) => {
	const path = hot(t, "v1-populated");
	cycle(open(t, { path }), "run");
	assert.equal(beside(t, path).prepare("SELECT * FROM diary").all().length, 0);
});

test("a hot journal stays where the file may only be read", (t) => {
	refusedUntouched("store_unavailable", { path: hot(t, "v1-populated"), readOnly: true });
});

for (const [name, statements] of Object.entries({
	"no bytes": "",
	"no tables": "PRAGMA user_version = 7",
	"no tables, in WAL": "PRAGMA journal_mode = WAL; PRAGMA user_version = 7",
	"an empty schema_info": "CREATE TABLE schema_info (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), schema_id TEXT NOT NULL)",
})) {
	test(`a file of ${name} is a new store, which reading leaves alone`, (t) => {
		const path = place(t, Buffer.alloc(0));
		alter(path, statements);
		const before = contents(dirname(path));
		const reader = open(t, { path, readOnly: true });
		assert.deepEqual([reader.listRuns({ limit: 1 }), reader.getRun({ sessionId: "s" })], [[], null]);
		refused("store_misconfigured", () => reader.reservePreparedRun(reservation("r")));
		reader.close();
		assert.deepEqual(contents(dirname(path)), before);
		const writer = open(t, { path, existing: true });
		cycle(writer, "run");
		assert.equal(writer.listRuns({ limit: 9 }).length, 1);
	});
}

test("a store without the table of intents owes nothing to a reader, and a writer makes it", (t) => {
	const path = place(t, fixture("v1-populated"));
	alter(path, "DROP TABLE workflow_turn_intents");
	const before = contents(dirname(path))[path];
	const reader = open(t, { path, readOnly: true });
	assert.deepEqual(reader.listWorkflowTurnIntents({ limit: 1 }), []);
	refused("store_misconfigured", () => reader.reservePreparedRun(reservation("r")));
	reader.close();
	assert.equal(contents(dirname(path))[path], before);
	open(t, { path }).close();
	assert.deepEqual(dump(path).workflow_turn_intents, []);
});

test("a reader sees what was committed while another writes", (t) => {
	const path = join(temp(t), "store");
	open(t, { path }).reservePreparedRun(reservation("run", "s"));
	const writer = beside(t, path);
	writer.exec("BEGIN IMMEDIATE; UPDATE workflow_run_queue SET status = 'done'");
	const reader = open(t, { path, readOnly: true, wait: 0 });
	assert.equal(reader.getRun({ runId: "run" })?.status, "queued");
	writer.exec("COMMIT");
	assert.equal(reader.getRun({ runId: "run" })?.status, "done");
});

test("tables of others stay", (t) => {
	const path = place(t, fixture("v1-populated"));
	alter(path, "CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('monday'); CREATE VIEW v AS SELECT * FROM diary");
	open(t, { path }).close();
	assert.equal(dump(path).diary?.length, 1);
});

test("a database that is nobody's store is refused", (t) => {
	const path = place(t, Buffer.alloc(0));
	alter(path, somethingElse);
	refusedUntouched("layout_incompatible", { path }, ...advice);
	truncateSync(path, 4096);
	refusedUntouched("layout_incompatible", { path });
});
