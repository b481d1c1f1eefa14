// Whose connection it is: ours is set up, a lent one stays as its host made it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { nodeSqlite, openStore, type Connection } from "wfcore-host-shim";
import { beside, cycle, fixture, open, place, pragma, refused, reservation, temp } from "./temp.ts";

const wanted = { query_only: 0, journal_mode: "wal", synchronous: 2, foreign_keys: 1, secure_delete: 1 };
const names = [...Object.keys(wanted), "busy_timeout", "user_version", "cache_size", "temp_store"];
const settings = (database: DatabaseSync) => Object.fromEntries(names.map((name) => [name, pragma(database, name)]));

/** A connection of a host, which waits for locks by itself. */
function host(t: TestContext, path: string, timeout = 1234): DatabaseSync {
	const database = new DatabaseSync(path, { timeout });
	t.after(() => database.isOpen && database.close());
	database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
	return database;
}

/** The connections that are prepared on meanwhile. */
function connections(t: TestContext, run: () => void): Set<DatabaseSync> {
	const seen = new Set<DatabaseSync>();
	const prepare = DatabaseSync.prototype.prepare;
	t.mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, sql: string) {
		seen.add(this);
		return prepare.call(this, sql);
	});
	run();
	t.mock.restoreAll();
	return seen;
}

test("our own connection is set up, and waits for nothing by itself", (t) => {
	for (const path of [join(temp(t), "store"), place(t, fixture("v1-populated"))]) {
		const seen = connections(t, () => open(t, { path }));
		const [own, ...more] = [...seen].filter((database) => database.isOpen);
		assert.equal(more.length, 0, "another connection stayed open");
		for (const [name, want] of Object.entries({ ...wanted, busy_timeout: 0 })) {
			assert.equal(pragma(own!, name), want, name);
		}
	}
});

test("a connection of a refused file is closed", (t) => {
	const path = place(t, fixture("foreign-schema-id"));
	const seen = connections(t, () => refused("layout_incompatible", () => openStore({ path })));
	assert.ok(seen.size > 0);
	assert.deepEqual([...seen].filter((database) => database.isOpen), []);
});

for (const [name, wrong] of Object.entries({ query_only: "ON", journal_mode: "DELETE", synchronous: "NORMAL", foreign_keys: "OFF" })) {
	test(`a lent connection with ${name} ${wrong} is misconfigured, and left alone`, (t) => {
		const database = host(t, join(temp(t), "store"));
		database.exec(`PRAGMA ${name} = ${wrong}`);
		const before = settings(database);
		const { details, message } = refused("store_misconfigured", () => openStore({ database }));
		assert.equal(details.pragma, name);
		assert.ok(message.includes(name));
		assert.deepEqual(settings(database), before);
		assert.deepEqual(database.prepare("SELECT * FROM sqlite_schema").all(), []);
		database.exec(`PRAGMA ${name} = ${wanted[name as keyof typeof wanted]}`);
		cycle(open(t, { database }), "run");
	});
}

test("a lent connection is not of a store of another kind", (t) => {
	const database = host(t, place(t, fixture("foreign-schema-id")));
	const before = settings(database);
	refused("layout_incompatible", () => openStore({ database }));
	assert.deepEqual(settings(database), before);
});

test("secure_delete is advised, and synchronous may be more", (t) => {
	const database = host(t, join(temp(t), "store"));
	assert.deepEqual(open(t, { database }).warnings.map(({ code }) => code).filter((code) => code !== "wal_reset"), []);
	database.exec("PRAGMA secure_delete = OFF; PRAGMA synchronous = EXTRA");
	const before = settings(database);
	const store = open(t, { database });
	assert.ok(store.warnings.some(({ code, message }) => code === "secure_delete" && message.includes("secure_delete")));
	assert.equal(store.sqliteVersion, database.prepare("SELECT sqlite_version() AS v").get()?.v);
	cycle(store, "run");
	assert.deepEqual(settings(database), before);
});

test("the host's transaction is refused, and still commits", (t) => {
	const database = host(t, place(t, fixture("v1-empty")));
	database.exec("CREATE TABLE diary (day)");
	const within = (run: () => void) => {
		database.exec("BEGIN; INSERT INTO diary VALUES ('monday')");
		assert.equal(refused("transaction_open", run).retryable, false);
		assert.ok(database.isTransaction);
		database.exec("COMMIT");
	};
	within(() => openStore({ database }));
	const store = open(t, { database });
	for (const op of [() => cycle(store, "run"), () => store.listRuns({ limit: 1 }), () => store.newRunId({ workflowName: "w" })]) {
		within(op);
		assert.deepEqual(store.listRuns({ limit: 1 }), []);
	}
	assert.equal(database.prepare("SELECT * FROM diary").all().length, 4);
	cycle(store, "run");
});

test("the host's own wait stays as it is, and is not added to ours", (t) => {
	const path = join(temp(t), "store");
	const database = host(t, path, 3_600_000);
	const store = open(t, { database, wait: 0, waitBeforeAbort: 0 });
	const unchanged = () => assert.equal(pragma(database, "busy_timeout"), 3_600_000);
	unchanged();
	cycle(store, "run");
	unchanged();
	const other = beside(t, path);
	other.exec("BEGIN IMMEDIATE");
	refused("store_unavailable", () => cycle(store, "other"));
	unchanged();
	refused("store_unavailable", () => store.noteTurnEvent({ runId: "run", kind: "stepTimeout", nodeId: "node" }));
	unchanged();
	assert.equal(store.listRuns({ limit: 9 }).length, 1);
	other.exec("COMMIT");
	cycle(store, "other");
	unchanged();
	refused("not_found", () => store.markPreparedRunRunning({ runId: "none", claimToken: "t" }));
	unchanged();
});

test("closing leaves a lent connection open", (t) => {
	const database = host(t, join(temp(t), "store"));
	const store = openStore({ database });
	cycle(store, "run");
	store.close();
	refused("store_closed", () => store.listRuns({ limit: 1 }));
	assert.equal(database.prepare("SELECT status FROM workflow_run_queue").get()?.status, "done");
	assert.equal(open(t, { database }).getRun({ runId: "run" })?.status, "done");
});

test("a store whose connection the host closed is closed", (t) => {
	const database = host(t, join(temp(t), "store"));
	const store = openStore({ database });
	database.close();
	refused("store_closed", () => store.listRuns({ limit: 1 }));
	refused("store_closed", () => openStore({ database }));
	store.close();
});

test("a lent connection in memory needs foreign keys only", (t) => {
	const database = beside(t, ":memory:");
	database.exec("PRAGMA foreign_keys = OFF");
	assert.equal(refused("store_misconfigured", () => openStore({ database })).details.pragma, "foreign_keys");
	database.exec("PRAGMA foreign_keys = ON");
	cycle(open(t, { database }), "run");
	assert.equal(open(t, { database }).getRun({ runId: "run" })?.status, "done");
});

test("a lent connection may be read only", (t) => {
	const path = place(t, fixture("v1-populated"));
	const database = new DatabaseSync(path, { readOnly: true });
	t.after(() => database.close());
	const store = open(t, { database, readOnly: true });
	assert.ok(store.listRuns({ limit: 9 }).length > 0);
	refused("store_misconfigured", () => store.reservePreparedRun(reservation("r")));
});

test("an adapter of another driver is five methods", (t) => {
	const path = join(temp(t), "store");
	const driver = nodeSqlite(host(t, path));
	const texts = new Set<string>();
	let closed = 0;
	const database: Connection = {
		prepare(sql) {
			texts.add(sql);
			return { all: (args) => driver.prepare(sql).all(args) };
		},
		resultCode: (error) => driver.resultCode(error),
		isOpen: () => driver.isOpen(),
		inTransaction: () => driver.inTransaction(),
		close: () => closed++,
	};
	const store = openStore({ database });
	cycle(store, "run");
	const prepared = texts.size;
	cycle(store, "again");
	assert.equal(texts.size, prepared, "texts of statements are made for each call");
	store.close();
	assert.equal(closed, 0);
	assert.equal(beside(t, path).prepare("SELECT count(*) AS n FROM workflow_run_queue").get()?.n, 2);
});
