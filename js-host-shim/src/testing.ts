// A scripted session and engine, for tests of hosts and workflows.
import type { Awaitable, Engine, EngineEnd, RunControl, Workflow } from "./engine.ts";
import { LaunchFailure } from "./engine.ts";
import type { Finding, Json, Run } from "./ops.ts";
import type { Session, SessionEntry, SessionMessage } from "./session.ts";

/**
 * What becomes of a message that a session accepts: it shows at once, shows when `flush` is called, or is lost
 * without a word.
 */
export type Appending = "now" | "late" | "never";

/** A session in memory, which starts idle. */
export class ScriptedSession implements Session {
	readonly id: string;
	/** All messages that it shows. A process that opens the same session again shares them. */
	readonly messages: SessionMessage[];
	appending: Appending = "now";
	/** Thrown by `send`. */
	sendError: Error | undefined;
	/** A question to the user is open, or a message waits. */
	pending = false;
	onHold = false;
	sends = 0;
	turns = 0;
	aborts = 0;
	/** Called when a turn starts, also while a message is taken. */
	onTurn: (() => void) | undefined;
	readonly #queue: SessionMessage[] = [];
	#active = false;
	#aborted = false;

	constructor(id: string, messages: SessionMessage[] = []) {
		this.id = id;
		this.messages = messages;
	}

	/** The same session in a new process: what this one had queued is gone. */
	restart(): ScriptedSession {
		return new ScriptedSession(this.id, this.messages);
	}

	idle(): boolean {
		return !this.#active && !this.pending;
	}

	held(): boolean {
		return this.onHold;
	}

	*entries(): Iterable<SessionEntry> {
		for (const { customType, details = {} } of this.messages) {
			yield { customType, details: details as SessionEntry["details"] };
		}
	}

	send(message: SessionMessage): void {
		if (this.sendError !== undefined) {
			throw this.sendError;
		}
		if (this.#aborted) {
			throw new Error("the turn is being aborted");
		}
		this.sends++;
		if (this.appending === "now") {
			this.#show(message);
		} else if (this.appending === "late") {
			this.#queue.push(message);
		}
	}

	abort(): void {
		this.aborts++;
		this.#aborted = this.#active;
	}

	/** Starts a turn, as a user's message does. */
	startTurn(): void {
		this.turns++;
		this.#active = true;
		this.onTurn?.();
	}

	/** Ends the turn. */
	settle(): void {
		this.#active = false;
		this.#aborted = false;
	}

	/** Shows what was accepted. */
	flush(): void {
		for (const message of this.#queue.splice(0)) {
			this.#show(message);
		}
	}

	#show(message: SessionMessage): void {
		this.messages.push(message);
		if (message.triggerTurn && !this.#active) {
			this.startTurn();
		}
	}
}

/** An engine of one workflow by script. Bundles are kept in memory; processes may share them. */
export class ScriptedEngine implements Engine<Run> {
	readonly bundles: Map<string, Finding>;
	/** Of the definition, now. */
	definitionDigest = "sha256:scripted";
	/** Thrown by `build`, and by `writeBundle`. */
	buildFailure: Error | undefined;
	bundleFailure: Error | undefined;
	/** The runs that acted, in order; a resumed one acts again. */
	readonly acted: string[] = [];
	/** What a run does; by default it is done at once. */
	script: (control: RunControl, input: Json) => Promise<EngineEnd> = async () => ({ outcome: "done" });
	/** Of the runs, which are in their bundles. */
	readonly inputs: Map<string, Json>;

	constructor(bundles: Map<string, Finding> = new Map(), inputs: Map<string, Json> = new Map()) {
		this.bundles = bundles;
		this.inputs = inputs;
	}

	/** The same engine in a new process: its bundles stand. */
	restart(): ScriptedEngine {
		return new ScriptedEngine(this.bundles, this.inputs);
	}

	resolve(name: string): Workflow {
		if (name === "") {
			throw new LaunchFailure("workflow_not_found", "there is no workflow without a name");
		}
		return { name, sourceRef: `builtin:${name}`, source: { id: name } };
	}

	validate(_workflow: Workflow, input: Json): void {
		if (input === null) {
			throw new LaunchFailure("input_invalid", "the input must not be null");
		}
	}

	digest(): string {
		return this.definitionDigest;
	}

	build(_workflow: Workflow, run: Run): Awaitable<Run> {
		if (this.buildFailure !== undefined) {
			throw this.buildFailure;
		}
		return run;
	}

	writeBundle(run: Run): void {
		if (this.bundleFailure !== undefined) {
			throw this.bundleFailure;
		}
		this.bundles.set(run.runId, { kind: "running" });
		this.inputs.set(run.runId, run.input ?? null);
	}

	inspect(runId: string): Finding {
		return this.bundles.get(runId) ?? { kind: "none" };
	}

	async start(control: RunControl): Promise<EngineEnd> {
		this.acted.push(control.runId);
		const end = await this.script(control, this.inputs.get(control.runId) ?? null);
		this.bundles.set(control.runId, bundleOf(end));
		return end;
	}
}

function bundleOf(end: EngineEnd): Finding {
	if (end.outcome === "failed") {
		return { kind: "terminal", status: "failed", code: end.code ?? null, message: end.message ?? null };
	}
	return end.outcome === "done" ? { kind: "terminal", status: "done" } : { kind: "waiting" };
}
