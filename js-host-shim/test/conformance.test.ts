// The one suite of all faces, on the core as WebAssembly in this runtime. Its format is told in
// core/conformance/conformance.go.
import { after, describe, test } from "node:test";
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, WfcoreError, type Store } from "wfcore-host-shim";

interface Step {
	now?: string;
	sql?: string;
	call: string;
	request?: unknown;
	raw?: string;
	code?: string;
	answer?: string;
	error?: string;
}

interface Case {
	name: string;
	steps: Step[];
	dump: Record<string, string[]>;
}

const suite = join(import.meta.dirname, "../../core/conformance/suite");
const read = (file: string) => JSON.parse(readFileSync(join(suite, file), "utf8")) as unknown;
const dumps = read("dump.json") as Record<string, string>;
const epoch = "2026-08-21T08:17:31.000Z";

let cases = 0;
let calls = 0;

for (const file of readdirSync(suite).filter((name) => name !== "dump.json")) {
	describe(file, () => {
		for (const c of read(file) as Case[]) {
			test(c.name, () => run(c));
		}
	});
}

after(() => console.log(`conformance: ${cases} cases, ${calls} calls`));

function run(c: Case): void {
	cases++;
	const directory = mkdtempSync(join(tmpdir(), "conformance-"));
	const path = join(directory, "store.sqlite");
	let n = 0; // the runtime of the core takes random bytes for itself when it starts
	const store = openStore({ path, testClock: true, random: (into) => into.forEach((_, i) => (into[i] = (n++ * 7 + 3) & 0xff)) });
	n = 0;
	const beside = new DatabaseSync(path);
	try {
		const given: string[] = [];
		let now = epoch;
		for (const [i, step] of c.steps.entries()) {
			now = step.now ?? now;
			if (step.sql !== undefined) {
				beside.exec(step.sql);
				given.push("");
			} else {
				given.push(call(store, step, step.raw ?? request(step.request, given, now), `${c.name}: step ${i}, ${step.call}`));
			}
		}
		for (const [table, select] of Object.entries(dumps)) {
			const rows = beside.prepare(select).all().map((row) => Object.values(row)[0]);
			assert.deepEqual(rows, c.dump[table] ?? [], `${c.name}: ${table}`);
		}
	} finally {
		beside.close();
		store.close();
		rmSync(directory, { recursive: true });
	}
}

function call(store: Store, step: Step, text: string, what: string): string {
	calls++;
	try {
		const answer = store.callText(step.call, text);
		assert.equal(answer, step.answer, what);
		return answer;
	} catch (error) {
		if (!(error instanceof WfcoreError)) {
			throw error;
		}
		assert.equal(error.code, step.code, what);
		assert.equal(JSON.stringify(error), step.error, what);
		return step.error!;
	}
}

function request(of: unknown, given: string[], now: string): string {
	const text = JSON.stringify(of).replace(/"\$(x?)(-?\d+)((?:\.\w+)*)"/g, (_, times: string, at: string, path: string) => {
		if (times !== "") {
			return JSON.stringify("x".repeat(Number(at)));
		}
		const whole = given.at(Number(at))!;
		return path === "" ? whole : JSON.stringify(path.split(".").slice(1).reduce((value, key) => value[key], JSON.parse(whole)));
	});
	return `${text.slice(0, -1)}${text === "{}" ? "" : ","}"now":"${now}"}`;
}
