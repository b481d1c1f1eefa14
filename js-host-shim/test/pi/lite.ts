// What the tests of ../../examples/pi-workflows-lite share. The package is installed in Pi as a user
// does it, with the tarball of `npm pack` beside it; nobody looks into its process: what is durable is
// read from the store's file, what Pi shows from its events and its session file.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { openStore } from "../../dist/index.js";
import type { Intent, RunStatus, Store } from "../../dist/index.js";
import { makeWorld, startPi } from "./harness.ts";
import type { Entry, Pi, StartOptions, World } from "./harness.ts";
import { textOf } from "./model.ts";

const here = import.meta.dirname;
const shim = resolve(here, "../..");
export const modules = join(shim, "node_modules");

let unpacked: string | undefined;

// The package as npm would publish it, unpacked once a process.
function packed(): string {
	if (unpacked !== undefined) return unpacked;
	const dir = mkdtempSync(join(tmpdir(), "wfcore-pack-"));
	process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
	execFileSync("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: shim });
	const { version } = JSON.parse(readFileSync(join(shim, "package.json"), "utf8"));
	execFileSync("tar", ["-xzf", `wfcore-host-shim-${version}.tgz`], { cwd: dir });
	unpacked = join(dir, "package");
	return unpacked;
}

export class Lite {
	readonly world: World;
	// Where the package was put.
	readonly dir: string;
	#store: Store | undefined;

	constructor(world: World) {
		this.world = world;
		this.dir = join(world.dir, "pi-workflows-lite");
		const example = join(shim, "examples/pi-workflows-lite");
		cpSync(example, this.dir, { recursive: true, filter: (path) => !path.includes("node_modules", example.length) });
		cpSync(packed(), join(this.dir, "node_modules/wfcore-host-shim"), { recursive: true });
	}

	path(...parts: string[]): string {
		return join(this.world.cwd, ".pi/workflows-lite", ...parts);
	}

	// A workflow's file, given its body. `mark('x')` in it appends to marks().
	workflow(name: string, body: string): void {
		const path = this.path("workflows", `${name}.mjs`);
		mkdirSync(dirname(path), { recursive: true });
		const marks = JSON.stringify(join(this.world.dir, "marks"));
		const head = `import { appendFileSync } from 'node:fs';
const mark = (what) => appendFileSync(${marks}, what + '\\n');
mark('import ' + new URL(import.meta.url).searchParams.get('purpose'));
`;
		writeFileSync(path, `${head}export default { name: '${name}', description: 'a test', ${body} };\n`);
	}

	marks(): string[] {
		const path = join(this.world.dir, "marks");
		return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
	}

	bundle(runId: string): any {
		const path = this.path("runs", `${runId}.json`);
		return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
	}

	async start(more: Partial<StartOptions> = {}): Promise<Pi> {
		const { home, cwd } = this.world;
		return await startPi({ home, cwd, packages: [this.dir], model: join(here, "lite.model.ts"), ...more });
	}

	// With the points of lite.extension.ts, at one of which it is killed.
	async startStopping(stopAt: string | undefined, more: Partial<StartOptions> = {}): Promise<Pi> {
		const env = { WFTEST_LITE: join(this.dir, "src/index.ts") };
		return await this.start({
			packages: [join(here, "lite.extension.ts")],
			env,
			...(stopAt === undefined ? {} : { stopAt }),
			...more,
		});
	}

	// The store, opened for reading by this process.
	get store(): Store {
		this.#store ??= openStore({ path: this.path("store.sqlite"), readOnly: true });
		return this.#store;
	}

	remove(): void {
		this.#store?.close();
		this.world.remove();
	}

	run(runId: string): RunStatus {
		const run = this.store.getRun({ runId });
		if (run === null) throw new Error(`there is no run ${runId}`);
		return run;
	}

	runIds(): string[] {
		return this.store.listRuns({ limit: 100 }).map((run) => run.runId);
	}

	feed(runId: string): string[] {
		return this.store.listRunEvents({ runId, limit: 100 }).map((event) => event.type);
	}

	intents(sessionId: string): Intent[] {
		return this.store.listWorkflowTurnIntents({ sessionId, limit: 100 });
	}

	// Waits until a run is in a state, as the store's file says.
	async until(pi: Pi, runId: string, status: string): Promise<RunStatus> {
		return await pi.waitUntil(() => {
			const run = this.run(runId);
			return run.status === status ? run : undefined;
		}, `run ${runId} is ${status}`);
	}

	// Waits until the one turn that is owed was given, and returns the message that gave it.
	async told(pi: Pi): Promise<Entry> {
		await pi.waitUntil(() => {
			const intents = this.intents(pi.sessionId);
			return intents.length > 0 && intents.every((intent) => intent.resolvedAt !== null);
		}, "the owed turns are resolved");
		const [entry, ...others] = followUps(pi);
		if (entry === undefined || others.length > 0) throw new Error(`${others.length + 1} messages instead of one`);
		await idle(pi);
		return entry;
	}
}

export function makeLite(t: TestContext): Lite {
	const lite = new Lite(makeWorld());
	t.after(() => lite.remove());
	return lite;
}

export async function idle(pi: Pi): Promise<void> {
	await pi.waitUntil(async () => !(await pi.state()).isStreaming, "the turn has ended");
}

export interface ToolResult {
	text: string;
	isError: boolean;
	details: any;
}

// What the model's calls of the tool came to, in their order.
export function toolResults(pi: Pi): ToolResult[] {
	return pi.entries().flatMap(({ message }) => {
		if (message?.role !== "toolResult" || message.toolName !== "workflow") return [];
		return [{ text: textOf(message), isError: message.isError === true, details: message.details }];
	});
}

export function followUps(pi: Pi): Entry[] {
	return pi.customMessages("pi-workflows-deferred-turn");
}

export function prompts(pi: Pi): Entry[] {
	return pi.customMessages("pi-workflows-agent-step");
}

// What the user says so that the model makes these calls, one after the other.
export function calls(...all: (Record<string, unknown> | string)[]): string {
	return all.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join("\n");
}

// The model starts a workflow in a turn; returns the run's id, once that turn has ended.
export async function startRun(pi: Pi, name: string, input: unknown = {}): Promise<string> {
	await pi.turn(calls({ action: "start", name, input }));
	const { text, isError, details } = toolResults(pi).at(-1)!;
	if (isError) throw new Error(text);
	return details.runId;
}
