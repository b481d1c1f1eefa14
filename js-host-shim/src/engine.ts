import type { EngineOutcome, FailureCode, Finding, FinishRequest, Json, Run, StopReason, TurnEvent } from "./ops.ts";

export type Awaitable<T> = T | Promise<T>;

/** What a name stands for, now. */
export interface Workflow {
	name: string;
	/** Where it comes from: `builtin:monitor`, a file. It must hold no secret. */
	sourceRef: string;
	/** The immutable identity of its source, as JSON. */
	source: Json;
}

/** Why a launch failed, where the engine knows it. The message is shown in its safe form. */
export class LaunchFailure extends Error {
	override readonly name = "LaunchFailure";
	readonly code: FailureCode;

	constructor(code: FailureCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}

/** How an engine ended. */
export interface EngineEnd {
	/** What waits or is paused is set aside, and comes back by the operation `resumeParkedRun` alone. */
	outcome: EngineOutcome;
	/** Of a failure. */
	code?: NonNullable<FinishRequest["errorCode"]>;
	message?: string;
	/**
	 * The run's private input, as its bundle has it: what the message quotes of it is taken out. It is known already of a run
	 * that was not resumed.
	 */
	input?: Json;
	/** What is known of the turn that the end strands. */
	turnEvent?: TurnEvent;
}

/** What builds and runs workflows. What it throws fails the launch, or the run. */
export interface Engine<Built = unknown> {
	/** Finds a workflow as it is now. */
	resolve(name: string): Awaitable<Workflow>;
	/** Refuses an input that the workflow does not take. */
	validate(workflow: Workflow, input: Json): Awaitable<void>;
	/** A digest of the definition: what differs in it is another source. */
	digest(workflow: Workflow): Awaitable<string>;
	/** Builds a claimed run. No node acts. It ends soon once the signal says so. */
	build(workflow: Workflow, run: Run, signal: AbortSignal): Awaitable<Built>;
	/**
	 * Writes the run bundle, input included, so that another process can go on from it. The launch can still fail after it,
	 * and the bundle is then left behind. Bundles are the engine's: nobody else reads or deletes one.
	 */
	writeBundle(run: Run, built: Built): Awaitable<void>;
	/**
	 * What is left of a run whose process is gone: `none`, `running` where its bundle can go on, `waiting`, `terminal` with
	 * its `status`, `sourceChanged`. It changes nothing. What it throws means `unreadable`, which ends the run.
	 */
	inspect(runId: string): Awaitable<Finding>;
	/**
	 * Acts, from what was built, or, without, from the bundle. It writes its end into the bundle before it returns. Once
	 * `control.signal` is aborted it ends soon, by throwing what `control` throws: cancel, shutdown and all else wait for it.
	 */
	start(control: RunControl, built: Built | undefined): Promise<EngineEnd>;
}

/** What a host lets a running engine do. */
export interface RunControl {
	readonly runId: string;
	/** The bundle of an earlier process goes on. */
	readonly resumed: boolean;
	/** Aborted, with a Stopped as its reason, when the run must not go on. */
	readonly signal: AbortSignal;
	/** Looks at the claim before a node acts, and throws a Stopped where the run must not go on. */
	node(): Promise<void>;
	/**
	 * Prompts the agent for a step, which is active until `stepEnded`. How the agent's result comes back, as by a tool, is
	 * the host's affair. An attempt is prompted once: another one, also after a restart, has another `attemptId`.
	 */
	prompt(step: AgentStep): void;
	/** Says that the agent's step ended. */
	stepEnded(): void;
	/** Shows the agent a result. The id is any, unique in the session. */
	present(messageId: string, content: string): void;
	/** The active step ran out of time: notes it, and aborts its turn if that is active still. Returns what to end with. */
	timedOut(message: string): EngineEnd;
}

/** A step of a workflow that the agent does. */
export interface AgentStep {
	nodeId: string;
	attemptId: string;
	content: string;
}

/** Why a run must not go on. */
export class Stopped extends Error {
	override readonly name = "Stopped";
	readonly why: StopReason;

	constructor(why: StopReason) {
		super(`the run is stopped: ${why}`);
		this.why = why;
	}
}
