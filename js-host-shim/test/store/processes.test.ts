// Processes share one file: four of Node, and one of the native command, whose SQLite is another library.
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { open } from "./temp.ts";

const cycles = 50;
const root = join(import.meta.dirname, "../..");
const directory = mkdtempSync(join(tmpdir(), "processes-"));
const wfcore = join(directory, "wfcore");
const path = join(directory, "store");

before(() => void execFileSync("go", ["build", "-o", wfcore, "./cmd/wfcore"], { cwd: join(root, ".."), stdio: "inherit" }));
after(() => rmSync(directory, { recursive: true, force: true }));

type Call = readonly [method: string, params: object];

/** One run from beginning to end. */
function calls(host: string, i: number): Call[] {
	const [runId, sessionId, claimToken] = [`${host}-${i}`, `session-${host}`, `token-${host}-${i}`];
	return [
		["reservePreparedRun", { runId, workflowName: "w", workflowSourceRef: "b:w", workflowSource: {}, definitionDigest: "d", input: { i }, originSessionId: sessionId }],
		["claimPreparedRun", { runId, sessionId, runnerId: host, claimToken }],
		["markPreparedRunRunning", { runId, claimToken }],
		["finishRunningRun", { runId, claimToken, status: "done" }],
	];
}

const program = `
	import { openStore } from "wfcore-host-shim";
	const [path, all] = process.argv.slice(1);
	const store = openStore({ path, wait: 10_000 });
	for (const [op, request] of JSON.parse(all)) {
		store.callText(op, JSON.stringify(request));
	}
	store.close();
`;

/** Waits for the end of a process, and wants nothing on its stderr. */
async function ended(child: ChildProcess): Promise<void> {
	const [said, status] = await Promise.all([text(child.stderr!), new Promise((resolve) => child.on("close", resolve))]);
	assert.deepEqual([status, said], [0, ""]);
}

function inNode(all: Call[]): Promise<void> {
	return ended(spawn(process.execPath, ["--input-type=module", "-e", program, path, JSON.stringify(all)], { cwd: root, stdio: ["ignore", "inherit", "pipe"] }));
}

async function inNative(all: Call[]): Promise<void> {
	const child = spawn(wfcore, ["--db", path, "rpc"], { stdio: "pipe" });
	const end = ended(child);
	const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	for (const [id, [method, params]] of all.entries()) {
		child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
		const { value } = await answers.next();
		const answer = JSON.parse(value as string) as { id: number; error?: unknown };
		assert.deepEqual([answer.id, answer.error], [id, undefined], method);
	}
	child.stdin.end();
	await end;
}

test("five processes open, fill and leave one file, and no error reaches a caller", { timeout: 120_000 }, async (t) => {
	const work = (host: string) => Array.from({ length: cycles }, (_, i) => calls(host, i)).flat();
	const hosts = ["a", "b", "c", "d", "native"];
	const native = inNative(work("native"));
	await Promise.all([native, ...hosts.slice(0, -1).map((host) => inNode(work(host)))]);

	const store = open(t, { path, existing: true });
	for (const host of hosts) {
		for (let i = 0; i < cycles; i++) {
			assert.equal(store.getRun({ runId: `${host}-${i}` })?.status, "done");
		}
	}
	using beside = new DatabaseSync(path);
	const count = (query: string) => beside.prepare(query).all().map((row) => ({ ...row }));
	assert.deepEqual(count("SELECT origin_session_id AS session, status, count(*) AS n FROM workflow_run_queue GROUP BY 1, 2 ORDER BY 1"),
		hosts.map((host) => ({ session: `session-${host}`, status: "done", n: cycles })));
	assert.deepEqual(count("SELECT type, count(*) AS n FROM run_events GROUP BY 1 ORDER BY 1"),
		["done", "queued", "running", "starting"].map((type) => ({ type, n: cycles * hosts.length })));
	assert.deepEqual(count("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
});
