// One store, one session and the processes that share them, with a clock that stands still until it is moved. A process
// is a whole host; it can die at any call of its store, and its store can fail.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import {
	openStore,
	WfcoreError,
	WorkflowHost,
	type AgentStep,
	type EngineEnd,
	type Finding,
	type Intent,
	type Json,
	type Run,
	type RunControl,
	type RunStatus,
	type Store,
	type Workflow,
} from "wfcore-host-shim";
import { ScriptedEngine, ScriptedSession } from "wfcore-host-shim/testing";

/** What a store does to a call: it dies with its process, before or after the call, or fails, before or after it. */
export type Fault = "dies" | "diesAfter" | "fails" | "failsAfter" | undefined;

/** Asked at each call of a process's store, with how many there were before. */
export type Faults = (call: number, op: string, request: string) => Fault;

export const interval = 3000;
export const lease = 30_000;

/** Lets everything happen that waits for nothing outside. */
export async function flush(): Promise<void> {
	for (let i = 0; i < 3; i++) {
		await new Promise((resolve) => setImmediate(resolve));
	}
}

export class World implements Disposable {
	readonly #clock = { now: Date.UTC(2026, 7, 21, 8, 17, 31) };
	/** What engines did, as "process what". */
	readonly log: string[] = [];
	readonly store: Store;
	readonly session: ScriptedSession;
	readonly engine: ScriptedEngine;
	#sessions = 0;
	#processes = 0;

	/** A world of its own, or another session of the same store: to open one takes longer than most tests. */
	constructor(of?: World) {
		this.#clock = of === undefined ? this.#clock : of.#clock;
		this.store = of?.store ?? opened(this.#clock);
		this.session = new ScriptedSession(`session-${of === undefined ? 0 : ++of.#sessions}`);
		this.engine = new ScriptedEngine();
	}

	get now(): number {
		return this.#clock.now;
	}

	set now(now: number) {
		this.#clock.now = now;
	}

	[Symbol.dispose](): void {
		this.store.close();
	}

	process(script?: ScriptedEngine["script"], faults?: Faults): Process {
		const process = new Process(this, `p${++this.#processes}`, faults);
		if (script !== undefined) {
			process.engine.script = script;
		}
		return process;
	}

	run(runId: string): RunStatus {
		return this.store.getRun({ runId })!;
	}

	events(runId: string): string[] {
		return this.store.listRunEvents({ runId, limit: 100 }).map(({ type }) => type);
	}

	intents(runId?: string): Intent[] {
		return this.store.listWorkflowTurnIntents({ ...(runId === undefined ? { sessionId: this.session.id } : { runId }), limit: 100 });
	}

	/** The messages that the session shows. */
	said(): string[] {
		return this.session.messages.map(({ customType }) => customType.replace("pi-workflows-", ""));
	}
}

function opened(clock: { now: number }): Store {
	const database = new DatabaseSync(":memory:");
	database.exec("PRAGMA foreign_keys = ON");
	return openStore({ database, now: () => clock.now });
}

/** Ends with its process: nothing is written or done any more. */
class Disk extends Map<string, Finding> {
	readonly #under: Map<string, Finding>;
	readonly #dead: () => boolean;

	constructor(under: Map<string, Finding>, dead: () => boolean) {
		super();
		this.#under = under;
		this.#dead = dead;
	}

	override get(runId: string): Finding | undefined {
		return this.#under.get(runId);
	}

	override set(runId: string, finding: Finding): this {
		if (!this.#dead()) {
			this.#under.set(runId, finding);
		}
		return this;
	}
}

class LoggedEngine extends ScriptedEngine {
	note: (what: string) => void = () => {};
	/** A build goes on until this is over. */
	building: Promise<void> | undefined;

	override async build(workflow: Workflow, run: Run, signal?: AbortSignal): Promise<Run> {
		this.note(`build ${run.runId}`);
		if (this.building !== undefined) {
			const stopped = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
			await Promise.race([this.building, stopped]);
		}
		return super.build(workflow, run);
	}

	override writeBundle(run: Run): void {
		this.note(`writeBundle ${run.runId}`);
		super.writeBundle(run);
	}

	override async start(control: RunControl): Promise<EngineEnd> {
		this.note(`start ${control.runId}${control.resumed ? " resumed" : ""}`);
		return super.start(control);
	}
}

export class Process {
	readonly host: WorkflowHost<Run>;
	readonly session: ScriptedSession;
	readonly engine: LoggedEngine;
	readonly store: Store;
	/** Each operation that was called. */
	readonly ops: string[] = [];
	readonly errors: unknown[] = [];
	readonly reported: string[] = [];
	dead = false;
	faults: Faults;
	calls = 0;
	readonly #world: World;
	readonly #waiting: (() => void)[] = [];

	constructor(world: World, name: string, faults: Faults = () => undefined) {
		this.#world = world;
		this.faults = faults;
		this.session = new ScriptedSession(world.session.id, world.session.messages);
		const { engine } = world;
		const disk = new Disk(engine.bundles, () => this.dead);
		this.engine = new LoggedEngine(disk, engine.inputs);
		this.engine.note = (what) => world.log.push(`${name} ${what}`);
		this.store = Object.create(world.store, { callText: { value: (op: string, request: string) => this.#call(op, request) } }) as Store;
		this.host = new WorkflowHost<Run>({
			store: this.store,
			session: this.session,
			engine: this.engine,
			runnerId: name,
			report: (runId) => this.reported.push(runId),
			failed: (error) => this.errors.push(error),
		});
		this.session.onTurn = () => this.host.turnStarted();
		const { send } = this.session;
		this.session.send = (message) => (this.dead ? assert.fail("a dead process sends") : send.call(this.session, message));
	}

	#call(op: string, request: string): string {
		if (this.dead) {
			throw new Error("the process is dead");
		}
		const fault = this.faults(this.calls++, op, request);
		this.ops.push(op);
		const after = fault === "diesAfter" || fault === "failsAfter";
		const answer = fault === undefined || after ? this.#world.store.callText(op, request) : "";
		if (fault === "dies" || fault === "diesAfter") {
			this.dead = true;
			throw new Error("the process dies");
		}
		if (fault !== undefined) {
			throw new WfcoreError("store_unavailable", "a fault of the test");
		}
		return answer;
	}

	/** A turn in which the agent starts a workflow. */
	async start(name = "monitor", input: Json = { text: "private words" }): Promise<string> {
		this.session.startTurn();
		return (await this.host.start(name, input)).run.runId;
	}

	/** The turn ends. */
	async settle(): Promise<void> {
		this.session.settle();
		await this.until(this.host.settled());
		await flush();
	}

	/** Polls some times, with the time between them. */
	async polls(n: number): Promise<void> {
		for (let i = 0; i < n; i++) {
			this.#world.now += interval;
			await this.until(this.host.poll());
			await flush();
			this.#waiting.splice(0).forEach((resolve) => resolve());
			await flush();
		}
	}

	/** The agent ends its turns, and time passes. */
	async goesOn(rounds: number): Promise<void> {
		for (let i = 0; i < rounds && !this.dead; i++) {
			this.session.flush();
			if (!this.session.idle()) {
				await this.settle();
			}
			await this.polls(1);
		}
	}

	/** Waits for what is asked of the host, but not for a dead one. */
	async until<T>(asked: Promise<T>): Promise<T | undefined> {
		let answered = false;
		const answer = asked.finally(() => (answered = true));
		answer.catch(() => {}); // it may come when nobody waits any more
		for (let i = 0; i < 50 && !this.dead && !answered; i++) {
			await new Promise((resolve) => setImmediate(resolve));
		}
		return answered || !this.dead ? answer : undefined;
	}

	/** Until the process polls the next time. */
	next(): Promise<void> {
		return new Promise((resolve) => this.#waiting.push(resolve));
	}
}

export const step: AgentStep = { nodeId: "review", attemptId: "1", content: "review it" };

/** Waits until the run is stopped. */
export function stopped({ signal }: RunControl): Promise<never> {
	return new Promise((_, reject) => {
		signal.addEventListener("abort", () => reject(signal.reason));
		if (signal.aborted) {
			reject(signal.reason);
		}
	});
}

/** A run whose agent works on a step, in a turn. */
export async function inStep(world: World, after: (control: RunControl) => Promise<EngineEnd> = stopped): Promise<[Process, string]> {
	const p = world.process(async (control) => {
		await control.node();
		control.prompt(step);
		return after(control);
	});
	const runId = await p.start();
	await p.settle();
	assert.deepEqual(world.said(), ["agent-step"]);
	assert.equal(p.session.idle(), false);
	return [p, runId];
}
