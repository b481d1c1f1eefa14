// What crosses from JavaScript to SQLite and back, and what is refused on the way.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { codes, opNames, openStore, WfcoreError, type Json, type OpName, type Store } from "wfcore-host-shim";
import { alter, cycle, open, refused, reservation, temp } from "./temp.ts";

test("an error is a WfcoreError with all that the core says", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	store.reservePreparedRun(reservation("run", "s"));
	const error = refused("session_reserved", () => store.reservePreparedRun(reservation("other", "s")));
	assert.ok(error instanceof WfcoreError && error instanceof Error);
	assert.equal(error.name, "WfcoreError");
	assert.equal(error.retryable, false);
	assert.equal(error.details.runId, "run");
	assert.deepEqual(JSON.parse(JSON.stringify(error)), {
		code: "session_reserved", message: error.message, retryable: false, details: error.details,
	});
	for (const [code, { retryable }] of Object.entries(codes)) {
		assert.equal(new WfcoreError(code as keyof typeof codes, "").retryable, retryable);
	}
});

test("every operation is a method, and a call by text", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	assert.ok(opNames.length > 20);
	for (const op of opNames) {
		const method = store[op] as (request: unknown) => unknown;
		assert.equal(typeof method, "function", op);
		const byMethod = refused("bad_request", () => method.call(store, { none: 1 }), op);
		assert.deepEqual(refused("bad_request", () => store.callText(op, '{"none":1}')).toJSON(), byMethod.toJSON());
	}
	for (const op of ["", "open", "getrun", "constructor", "close", "getRun\0"]) {
		refused("bad_request", () => store.callText(op, "{}"), op);
	}
});

test("what is no request is refused", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	const text = (request: string) => () => store.callText("getRun", request);
	for (const request of ["", "null", "[]", '"r"', "{", '{"runId":"a"}{}', '{"runId":"a","runId":"b"}', '{"runId":1}', "\ufeff{}"]) {
		refused("bad_request", text(request), request);
	}
	const round: Record<string, unknown> = {};
	round.self = round;
	for (const request of [null, 1, "r", [], () => 0, { runId: 1n }, round, { runId: null, more: 1 }, { now: "2026-08-21T08:17:31.000Z" }]) {
		refused("bad_request", () => store.getRun(request as never));
	}
	refused("bad_request", () => store.getRun());
});

test("lone surrogates are refused, not replaced", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	for (const half of ["\ud83d", "\ude00", "a\ude00\ud83db"]) {
		refused("bad_request", () => store.getRun({ runId: half }));
		refused("bad_request", () => store.callText("getRun", `{"runId":"${half}"}`));
		refused("bad_request", () => store.reservePreparedRun({ ...reservation("run"), input: { [half]: 1 } }));
	}
	assert.deepEqual(store.listRuns({ limit: 1 }), []);
});

test("what is too large is refused, and the next call works", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	for (const mebibytes of [2, 65]) {
		const { details } = refused("bad_request", () => store.reservePreparedRun({ ...reservation("run"), input: "x".repeat(mebibytes << 20) }));
		assert.ok(details.field);
	}
	cycle(store, "run");
});

/** Stores an input, and reads it when the run is claimed. */
function round(store: Store, runId: string, input: Json): Json | undefined {
	store.reservePreparedRun({ ...reservation(runId), input });
	return store.claimPreparedRun({ runId, runnerId: "r" }).input;
}

test("texts come back as they went", (t) => {
	const path = join(temp(t), "store");
	const store = open(t, { path });
	const texts = ["\ufeffmark first", "\ufeff", "a\u2028b\u2029c", "😀🜁", "größe 日本語", "nul\0nul", "\u007f\u0080\ufffe\uffff", '"\\/\b\f\n\r\t', "", "e\u0301 é"];
	for (const [i, text] of texts.entries()) {
		assert.deepEqual(round(store, `run-${i}`, { [text]: text }), { [text]: text });
	}
	const sessions = ["\ufeffs", "s", "s\u2028", "😀", "größe"];
	for (const [i, session] of sessions.entries()) {
		store.reservePreparedRun(reservation(`owned-${i}`, session));
	}
	store.close();
	const again = open(t, { path });
	for (const [i, sessionId] of sessions.entries()) {
		const run = again.getRun({ sessionId });
		assert.deepEqual([run?.runId, again.listRuns({ sessionId, limit: 9 })[0]?.originSessionId], [`owned-${i}`, sessionId]);
	}
});

test("numbers come back as they went, or are refused", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	const numbers = [0, 1, -1, 0.1, 1e21, 5e-324, Number.MAX_VALUE, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53)];
	assert.deepEqual(round(store, "run", numbers), numbers);
	const request = JSON.stringify({ ...reservation("other"), input: 0 });
	refused("bad_request", () => store.callText("reservePreparedRun", request.replace('"input":0', '"input":9007199254740993')));
	for (const afterSeq of [-1, 0.5, 2 ** 53 + 2]) {
		refused("bad_request", () => store.listRunEvents({ afterSeq, limit: 1 }));
	}
});

test("an integer of 2^53 is read from the file as it is", (t) => {
	const path = join(temp(t), "store");
	const store = open(t, { path });
	store.reservePreparedRun(reservation("first"));
	alter(path, `UPDATE sqlite_sequence SET seq = ${2 ** 53 - 1} WHERE name = 'run_events'`);
	store.reservePreparedRun(reservation("run"));
	const [event] = store.listRunEvents({ runId: "run", limit: 9 });
	assert.equal(event?.seq, 2 ** 53);
	assert.deepEqual(store.listRunEvents({ afterSeq: 2 ** 53 - 1, limit: 9 }), [event]);
	assert.deepEqual(store.listRunEvents({ afterSeq: 2 ** 53, limit: 9 }), []);
});

test("a list that is larger than a megabyte comes whole, and again", (t) => {
	const store = open(t, { path: join(temp(t), "store") });
	const source = { text: "é".repeat(30_000) };
	for (let i = 0; i < 40; i++) {
		store.reservePreparedRun({ ...reservation(`run-${i}`), workflowSource: source });
	}
	for (let i = 0; i < 3; i++) {
		const runs = store.listRuns({ limit: 40 });
		assert.equal(runs.length, 40);
		assert.equal(new Set(runs.map(({ runId }) => runId)).size, 40);
		assert.equal(store.getRun({ runId: "run-7" })?.runId, "run-7");
	}
});

test("time and random bytes are those of the host", (t) => {
	const options = { now: () => Date.parse("2026-08-21T08:17:31.999Z") + 0.75, random: (bytes: Uint8Array) => void bytes.fill(7) };
	const ids = [1, 2].map(() => {
		using store = openStore({ path: join(temp(t), "store"), ...options });
		assert.equal(store.reservePreparedRun(reservation("run")).run.createdAt, "2026-08-21T08:17:31.999Z");
		return store.newRunId({ workflowName: "w" }).runId;
	});
	assert.equal(ids[0], ids[1]);
	using other = openStore({ path: join(temp(t), "store") });
	assert.notEqual(other.newRunId({ workflowName: "w" }).runId, other.newRunId({ workflowName: "w" }).runId);
});

test("a clock of its own in a request is for tests alone", (t) => {
	const now = "2026-08-21T09:17:31.000Z";
	const request = { ...reservation("run"), now };
	refused("bad_request", () => open(t, { path: join(temp(t), "store") }).reservePreparedRun(request));
	assert.equal(open(t, { path: join(temp(t), "store"), testClock: true }).reservePreparedRun(request).run.createdAt, now);
});

test("a store closes with its scope, and twice", (t) => {
	const path = join(temp(t), "store");
	let kept: Store;
	{
		using store = openStore({ path });
		cycle(store, "run");
		kept = store;
	}
	for (const op of ["listRuns", "getRun", "newRunId"] satisfies OpName[]) {
		assert.equal(refused("store_closed", () => kept.callText(op, "{}")).retryable, false);
	}
	kept.close();
	kept[Symbol.dispose]();
	assert.equal(open(t, { path }).getRun({ runId: "run" })?.status, "done");
});
