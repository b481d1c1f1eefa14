// What happens when the core, the driver or another process fails in the middle.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { nodeSqlite, openStore, WfcoreError, type Connection, type Store } from "wfcore-host-shim";
import { alter, beside, cycle, fixture, open, place, refused, reservation, temp } from "./temp.ts";

const runs = (store: Store) => store.listRuns({ limit: 100 }).length;

function lentTo(t: TestContext, path = place(t, fixture("v1-empty"))): DatabaseSync {
	const database = beside(t, path);
	database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
	return database;
}

/** A driver whose statements do something first. */
function driver(database: DatabaseSync, before: (sql: string) => void): Connection {
	const inner = nodeSqlite(database);
	return {
		...inner,
		prepare(sql) {
			const statement = inner.prepare(sql);
			return {
				all(args) {
					before(sql);
					return statement.all(args);
				},
			};
		},
	};
}

const boom = () => {
	throw new Error("boom");
};

/** The clock is read, and random bytes are drawn, after BEGIN IMMEDIATE. */
for (const source of ["now", "random"] as const) {
	for (const whose of ["own", "lent"] as const) {
		test(`a ${source} that throws in a transaction loses the instance of our ${whose} connection, and no more`, (t) => {
			const path = join(temp(t), "store");
			const database = lentTo(t, path);
			let broken = false;
			const fill = (bytes: Uint8Array) => void crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
			const options = {
				now: () => (broken && source === "now" ? boom() : Date.now()),
				random: (bytes: Uint8Array) => (broken && source === "random" ? boom() : fill(bytes)),
			};
			const store = open(t, whose === "own" ? { path, ...options } : { database, ...options });
			store.reservePreparedRun(reservation("before", "s"));
			broken = true;
			const begun = () => store.claimNextRun({ sessionId: "s", runnerId: "r" }); // which makes a token
			const error = refused("core_crashed", begun);
			assert.equal(error.retryable, true);
			assert.equal((error.cause as Error).message, "boom");
			assert.equal(database.isTransaction, false);
			database.exec("BEGIN IMMEDIATE; COMMIT"); // nobody holds the lock
			broken = false;
			assert.equal(store.getRun({ runId: "before" })?.status, "queued");
			assert.equal(begun()?.runId, "before");
			cycle(store, "after");
		});
	}
}

test("random bytes that fail while the core starts are a crash at opening", (t) => {
	for (const path of [join(temp(t), "store"), place(t, fixture("v1-empty"))]) {
		refused("core_crashed", () => openStore({ path, random: boom }));
		cycle(open(t, { path }), "run");
	}
	const database = lentTo(t);
	refused("core_crashed", () => openStore({ database, random: boom }));
	cycle(open(t, { database }), "run");
});

test("a clock that gives no number is a crash", (t) => {
	let time = 0;
	const store = open(t, { path: join(temp(t), "store"), now: () => time });
	time = Number.NaN;
	refused("core_crashed", () => store.reservePreparedRun(reservation("run")));
	time = Date.parse("2026-08-21T08:17:31.250Z");
	assert.equal(store.reservePreparedRun(reservation("run")).run.createdAt, "2026-08-21T08:17:31.250Z");
});

test("a fresh instance that cannot open yet is asked again", (t) => {
	const path = join(temp(t), "store");
	let broken = false;
	const store = open(t, { path, wait: 0, now: () => (broken ? boom() : Date.now()) });
	broken = true;
	refused("core_crashed", () => cycle(store, "run"));
	broken = false;
	const other = beside(t, path);
	other.exec("DROP TABLE workflow_turn_intents; BEGIN IMMEDIATE");
	for (let i = 0; i < 2; i++) {
		refused("store_unavailable", () => runs(store));
	}
	other.exec("COMMIT");
	assert.equal(runs(store), 0);
	cycle(store, "run");
});

test("a trap in an opening leaves no transaction on the host's connection", (t) => {
	const database = lentTo(t, join(temp(t), "store"));
	let broken = true;
	const lent: Connection = {
		...driver(database, (sql) => broken && sql.includes("CREATE TABLE") && boom()),
		resultCode: boom,
	};
	refused("core_crashed", () => openStore({ database: lent }));
	assert.equal(database.isTransaction, false);
	assert.deepEqual(database.prepare("SELECT * FROM sqlite_schema").all(), []);
	broken = false;
	cycle(open(t, { database: lent }), "run");
});

for (const thrown of [new Error("boom"), "boom", undefined]) {
	test(`a driver that throws ${thrown} at any statement is an error with a code`, (t) => {
		const database = lentTo(t);
		let left = Infinity;
		const store = open(t, {
			database: driver(database, () => {
				if (left-- === 0) {
					throw thrown;
				}
			}),
		});
		const failsAt = (nth: number) => {
			left = nth;
			try {
				cycle(store, `run-${nth}`);
			} catch (error) {
				assert.ok(error instanceof WfcoreError && error.code !== "core_crashed", `${nth}: ${error}`);
			}
			const failed = left < 0;
			left = Infinity;
			assert.equal(database.isTransaction, false, `a transaction is open after ${nth}`);
			cycle(store, `after-${nth}`);
			return failed;
		};
		let nth = 0;
		while (failsAt(nth)) {
			nth++;
		}
		assert.ok(nth > 20, `${nth} statements`);
	});
}

test("a call from within a call is refused, and the outer one goes on", (t) => {
	const database = lentTo(t);
	let inner = -1;
	const store = open(t, {
		database: driver(database, () => {
			if (inner >= 0) {
				inner++;
				refused("store_unavailable", () => store.listRuns({ limit: 1 }));
			}
		}),
	});
	inner = 0;
	cycle(store, "run");
	assert.ok(inner > 5);
});

test("a lock is waited for, and not longer than asked", (t) => {
	const path = join(temp(t), "store");
	const database = lentTo(t, path);
	const other = beside(t, path);
	let tries = 0;
	let releaseAt = Infinity;
	const lent = driver(database, (sql) => {
		assert.ok(tries < 10_000, "it waits and waits");
		if (sql === "BEGIN IMMEDIATE" && other.isTransaction && ++tries === releaseAt) {
			other.exec("COMMIT");
		}
	});
	const tried = (run: () => void, release = Infinity) => {
		[tries, releaseAt] = [0, release];
		other.exec("BEGIN IMMEDIATE");
		run();
		if (other.isTransaction) {
			other.exec("COMMIT");
		}
		return tries;
	};
	open(t, { database: lent }).close();
	const hour = 3_600_000;
	const patient = open(t, { database: lent, wait: hour, waitBeforeAbort: 0 });
	const hasty = open(t, { database: lent, wait: 0, waitBeforeAbort: hour });
	const note = (store: Store) => store.noteTurnEvent({ runId: "run", kind: "stepTimeout", nodeId: "node" });
	assert.equal(tried(() => cycle(patient, "run"), 9), 9);
	assert.equal(tried(() => assert.ok(refused("store_unavailable", () => cycle(hasty, "none")).retryable)), 1);
	assert.equal(tried(() => refused("store_unavailable", () => note(patient))), 1);
	assert.equal(tried(() => note(hasty), 9), 9);
	cycle(hasty, "after");
	const brief = open(t, { database: lent, wait: 20 });
	assert.ok(tried(() => refused("store_unavailable", () => cycle(brief, "none"))) > 1);
	const none = open(t, { database: lent, wait: Number.NaN });
	assert.equal(tried(() => refused("store_unavailable", () => cycle(none, "none"))), 1);
	assert.equal(runs(patient), 2);
});

test("a lock on the file of our own connection is an error, and its end is the end of that", (t) => {
	const path = join(temp(t), "store");
	const store = open(t, { path, wait: 0 });
	const other = beside(t, path);
	other.exec("BEGIN IMMEDIATE");
	assert.deepEqual(refused("store_unavailable", () => cycle(store, "run")).details, { sqlite: 5 });
	assert.equal(runs(store), 0);
	other.exec("ROLLBACK");
	cycle(store, "run");
	other.exec("BEGIN EXCLUSIVE");
	open(t, { path, wait: 0, readOnly: true });
});

test("a new file that another holds is unavailable, and then made", (t) => {
	const path = join(temp(t), "store");
	alter(path, "");
	const other = beside(t, path);
	other.exec("BEGIN EXCLUSIVE");
	refused("store_unavailable", () => openStore({ path, wait: 0 }));
	other.exec("ROLLBACK");
	cycle(open(t, { path, wait: 0 }), "run");
});

test("a store that is closed while it works ends with an error", (t) => {
	const path = join(temp(t), "store");
	let close = false;
	const store = open(t, {
		path,
		now: () => {
			if (close) {
				store.close();
			}
			return Date.now();
		},
	});
	close = true;
	refused("store_unavailable", () => cycle(store, "run"));
	refused("store_closed", () => cycle(store, "run"));
	assert.equal(runs(open(t, { path })), 0);
});
