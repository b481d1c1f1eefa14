// Many processes write to one file, with the SQLite of Node and with the native one, and none sees a lock.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { beside, open, refused, reservation, temp } from "./temp.ts";

const root = join(import.meta.dirname, "../../..");
let bin: string;

before(() => {
	bin = mkdtempSync(join(tmpdir(), "bin-"));
	execFileSync("go", ["build", "-o", bin, "./cmd/wfcore"], { cwd: root });
});

after(() => rmSync(bin, { recursive: true }));

/** A process that is ready once it said something, and starts when it is given its input, which ends. */
interface Writer {
	ready: Promise<void>;
	go(): Promise<string>;
}

function writer(t: TestContext, command: string, args: string[], first: string, rest: string): Writer {
	const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
	t.after(() => child.kill("SIGKILL"));
	let output = "";
	const ready = Promise.withResolvers<void>();
	const ended = Promise.withResolvers<string>();
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		output += text;
		ready.resolve();
	});
	child.on("close", (code) => {
		ready.reject(new Error(`${command} ended with ${code}`));
		return code === 0 ? ended.resolve(output) : ended.reject(new Error(`${command} ended with ${code}: ${output}`));
	});
	ended.promise.catch(() => {});
	child.stdin.write(first);
	const go = () => {
		child.stdin.end(rest);
		return ended.promise;
	};
	return { ready: ready.promise, go };
}

function nodeWriter(t: TestContext, path: string, name: string, runs: number): Writer {
	return writer(t, process.execPath, [join(import.meta.dirname, "writer.ts"), path, name, `${runs}`], "", "");
}

/** The four calls of a run, as cycle makes them. */
function calls(runId: string): [string, object][] {
	const held = { runId, claimToken: runId };
	return [
		["reservePreparedRun", reservation(runId, runId)],
		["claimPreparedRun", { ...held, sessionId: runId, runnerId: "runner" }],
		["markPreparedRunRunning", held],
		["finishRunningRun", { ...held, status: "done" }],
	];
}

const line = (id: number, [method, params]: [string, object]) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;

function nativeWriter(t: TestContext, path: string, name: string, runs: number): Writer {
	const rest = Array.from({ length: runs }, (_, n) => calls(`${name}-${n}`)).flat();
	return writer(t, join(bin, "wfcore"), ["--db", path, "rpc"], line(-1, ["newRunId", { workflowName: "w" }]), rest.map((call, id) => line(id, call)).join(""));
}

/** Starts all when all are ready, and returns what each said. */
async function together(writers: Writer[]): Promise<string[]> {
	await Promise.all(writers.map(({ ready }) => ready));
	return await Promise.all(writers.map(({ go }) => go()));
}

function wantAll(t: TestContext, path: string, names: string[], runs: number): void {
	const wanted = names.flatMap((name) => Array.from({ length: runs }, (_, n) => `${name}-${n}`));
	const database = beside(t, path);
	const done = database.prepare("SELECT run_id FROM workflow_run_queue WHERE status = 'done'").all();
	assert.deepEqual(done.map((row) => row.run_id).sort(), wanted.sort());
	const events = database.prepare("SELECT count(DISTINCT type) AS types, count(*) AS n FROM run_events GROUP BY run_id").all();
	assert.equal(events.length, wanted.length);
	assert.ok(events.every(({ types, n }) => types === 4 && n === 4), "a run has other events than its four");
	assert.equal(database.prepare("PRAGMA integrity_check").get()?.integrity_check, "ok");
	database.close();
}

test("four processes write at once, and every run is there", async (t) => {
	const path = join(temp(t), "new", "store"); // they make it at once too
	const names = ["a", "b", "c", "d"];
	const said = await together(names.map((name) => nodeWriter(t, path, name, 50)));
	assert.deepEqual(said, names.map(() => "ready\ndone 50\n"));
	wantAll(t, path, names, 50);
	assert.deepEqual(readdirSync(join(path, "..")), ["store"]);
});

test("a native process and two of Node write at once, and every run is there", async (t) => {
	const path = join(temp(t), "store");
	const names = ["native", "a", "b"];
	const [native = "", ...said] = await together([nativeWriter(t, path, "native", 50), nodeWriter(t, path, "a", 50), nodeWriter(t, path, "b", 50)]);
	assert.deepEqual(said, ["ready\ndone 50\n", "ready\ndone 50\n"]);
	const answers = native.trim().split("\n").map((text) => JSON.parse(text) as { id: number; result?: object });
	assert.deepEqual(answers.filter(({ result }) => result === undefined), []);
	assert.deepEqual(answers.map(({ id }) => id), Array.from({ length: 201 }, (_, n) => n - 1));
	wantAll(t, path, names, 50);
});

test("what one library wrote the other goes on with", async (t) => {
	const path = join(temp(t), "store");
	const native = nativeWriter(t, path, "native", 1);
	const store = open(t, { path, wait: 10_000 });
	await native.ready;
	store.reservePreparedRun(reservation("native-0", "native-0")); // with the same facts, so its own start finds it
	const answers = (await native.go()).trim().split("\n");
	assert.equal(answers.filter((text) => text.includes('"result"')).length, 5);
	assert.equal(store.getRun({ runId: "native-0" })?.status, "done");
	refused("invalid_transition", () => store.claimPreparedRun({ runId: "native-0", sessionId: "native-0", runnerId: "r" }));
	assert.equal(store.listRunEvents({ runId: "native-0", limit: 10 }).length, 4);
});
