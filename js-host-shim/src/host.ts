import { randomUUID } from "node:crypto";
import { WfcoreError } from "./errors.ts";
import type { AgentStep, Engine, EngineEnd, RunControl } from "./engine.ts";
import { quietly, telling } from "./dispatch.ts";
import { LaunchCoordinator } from "./launches.ts";
import type { Json, JsonObject, Origin, ReserveResponse, RunStatus, StopReason, TurnEvent } from "./ops.ts";
import type { Session } from "./session.ts";
import type { Store } from "./store.ts";
import { TurnCoordinator } from "./turns.ts";

export interface HostOptions<Built> {
	store: Store;
	session: Session;
	engine: Engine<Built>;
	/** This process; by default a new one. */
	runnerId?: string;
	/** Tells the user that the agent of a run may never hear of what happened. */
	report?: (runId: string) => void;
	/** Told of errors that nobody waits for. */
	failed?: (error: unknown) => void;
	/** How long runs and deliveries are claimed, in milliseconds: 30,000. */
	leaseMs?: number;
}

export interface StartOptions {
	launchOptions?: JsonObject;
	parentRunId?: string;
}

/** What a run of this process said to its agent. */
interface Said {
	/** Whether it has prompted, as far as is known. */
	prompted: boolean;
	active?: AgentStep | undefined;
	/** The active step ran out of time, and its turn was aborted. */
	timedOut?: boolean;
	/** The turn of the active step has settled: what goes on in the session is another's. */
	settled?: boolean;
	/** The user paused it: what it still has to say shall not go. */
	paused?: boolean;
}

/**
 * One session of an agent host, with both coordinators: what happens in the session goes to the launch
 * coordinator first and then to the turn coordinator.
 */
export class WorkflowHost<Built = unknown> {
	readonly runnerId: string;
	readonly launches: LaunchCoordinator<Built>;
	readonly turns: TurnCoordinator;
	readonly #options: HostOptions<Built>;
	readonly #failed: (error: unknown) => void;
	readonly #said = new Map<string, Said>();
	#closed = false;
	/** How many turns have started. */
	#turns = 0;

	constructor(options: HostOptions<Built>) {
		this.#options = options;
		this.#failed = telling(options.failed);
		this.runnerId = options.runnerId ?? randomUUID();
		this.turns = new TurnCoordinator(options);
		this.launches = new LaunchCoordinator({
			...options,
			runnerId: this.runnerId,
			control: (run) => this.#control(run),
			end: (runId, end) => this.#end(runId, end),
			ended: (runId, stored) => this.#ended(runId, stored),
			stopped: (runId, why) => this.#stopped(runId, why),
		});
	}

	/**
	 * Checks a start and stores it: the run is queued, and starts when the turn has settled. What the engine throws passes,
	 * and leaves no row; so does a WfcoreError, as `session_reserved`, which names the run in the way.
	 */
	async start(name: string, input: Json, options: StartOptions = {}): Promise<ReserveResponse> {
		const { store, session, engine } = this.#options;
		if (this.#closed) {
			throw new WfcoreError("store_closed", "the host was shut down: what is queued now, nobody here would start");
		}
		const workflow = await engine.resolve(name);
		await engine.validate(workflow, input);
		const definitionDigest = await engine.digest(workflow);
		const { runId } = store.newRunId({ workflowName: workflow.name });
		return store.reservePreparedRun({
			runId,
			workflowName: workflow.name,
			workflowSourceRef: workflow.sourceRef,
			workflowSource: workflow.source,
			definitionDigest,
			input,
			originSessionId: session.id,
			affinityRunnerId: this.runnerId,
			...options,
		});
	}

	/** The status of a run, or of what the session runs or ran last, with one line to show. Null is nothing. */
	status(runId?: string): RunStatus | null {
		const { store, session } = this.#options;
		return store.getRun(runId === undefined ? { sessionId: session.id } : { runId });
	}

	/** The agent's step that is active, if the run has one in this process. */
	activeStep(runId: string): AgentStep | undefined {
		return this.#said.get(runId)?.active;
	}

	/**
	 * Cancels a run of the session, and waits for the end of its engine, which must not wait for this. The agent's own
	 * cancel in its active step aborts its turn, and owes it a later one.
	 */
	async cancel(runId: string, origin: Origin): Promise<RunStatus | null> {
		const { store, session } = this.#options;
		const sessionId = session.id;
		const step = origin === "agent" ? stepInTurn(this.#said.get(runId)) : undefined;
		let turnEvent: TurnEvent | undefined;
		if (step !== undefined) {
			const { nodeId, attemptId } = step;
			turnEvent = { nodeId, attemptId, abortCause: "agentCancelled" };
			quietly(this.#failed, () => this.turns.abort({ runId, sessionId, kind: "agentCancel", nodeId, attemptId, origin }));
		}
		let stored = false;
		try {
			store.cancelPreparedRun({ runId, sessionId, origin, ...(turnEvent === undefined ? {} : { turnEvent }) });
			stored = true;
		} finally {
			quietly(this.#failed, () => this.turns.ended(runId, stored));
			await this.launches.poll();
		}
		return store.getRun({ runId });
	}

	async sessionStart(): Promise<void> {
		await this.launches.sessionStart();
		quietly(this.#failed, () => this.turns.sessionStart());
	}

	async settled(): Promise<void> {
		const turn = this.#turns;
		for (const said of this.#said.values()) {
			said.settled = true;
		}
		await this.launches.settled();
		// Another turn may have begun meanwhile, and has not settled.
		quietly(this.#failed, () => (turn === this.#turns ? this.turns.settled() : this.turns.activity()));
	}

	async poll(): Promise<void> {
		await this.launches.poll();
		quietly(this.#failed, () => this.turns.poll());
	}

	turnStarted(): void {
		this.#turns++;
		quietly(this.#failed, () => this.turns.turnStarted());
	}

	activity(): void {
		quietly(this.#failed, () => this.turns.activity());
	}

	async shutdown(): Promise<void> {
		this.#closed = true;
		await this.launches.shutdown();
		quietly(this.#failed, () => this.turns.shutdown());
	}

	/** Adds what only the host knows of the turn that an end strands. */
	#end(runId: string, end: EngineEnd): EngineEnd {
		const said = this.#said.get(runId);
		if (said === undefined) {
			return end;
		}
		said.paused = end.outcome === "paused";
		const turnEvent = end.turnEvent ?? (end.outcome === "failed" ? stranded(said) : undefined);
		return turnEvent === undefined ? end : { ...end, turnEvent };
	}

	#ended(runId: string, stored: boolean): void {
		quietly(this.#failed, () => this.turns.ended(runId, stored));
		if (!stored) {
			return;
		}
		if (this.#said.get(runId)?.paused) {
			quietly(this.#failed, () => this.turns.withdraw(runId));
		}
		this.#said.delete(runId);
		quietly(this.#failed, () => this.turns.poll()); // what it owes is due now, not in 3 s
	}

	/** What a run has not said when it is stopped, it shall not say. A step that another runner goes on with is aborted. */
	#stopped(runId: string, why: StopReason): void {
		const step = stepInTurn(this.#said.get(runId));
		this.#said.delete(runId);
		if (why === "shutdown") {
			return;
		}
		quietly(this.#failed, () => this.turns.withdraw(runId));
		if (why === "claimLost" && step !== undefined) {
			const { nodeId, attemptId } = step;
			const sessionId = this.#options.session.id;
			quietly(this.#failed, () => this.turns.abort({ runId, sessionId, kind: "claimLost", nodeId, attemptId }));
		}
	}

	#control(run: Pick<RunControl, "runId" | "resumed" | "signal" | "node">): RunControl {
		const { runId, signal } = run;
		const said: Said = { prompted: run.resumed };
		this.#said.set(runId, said);
		return {
			...run,
			prompt: (step) => {
				signal.throwIfAborted();
				said.prompted = true;
				said.active = step;
				said.timedOut = false;
				said.settled = false;
				this.turns.natural({
					runId,
					messageId: `${runId}:${step.nodeId}:${step.attemptId}`,
					resolution: "workflowPrompt",
					message: {
						customType: "pi-workflows-agent-step",
						content: step.content,
						details: { runId, nodeId: step.nodeId, attemptId: step.attemptId },
						deliverAs: "followUp",
						triggerTurn: true,
					},
				});
			},
			stepEnded: () => {
				said.active = undefined;
			},
			present: (messageId, content) => {
				signal.throwIfAborted();
				this.turns.natural({
					runId,
					messageId,
					resolution: "presentation",
					message: { customType: "pi-workflows-presentation", content, details: { runId }, deliverAs: "followUp", triggerTurn: true },
				});
			},
			timedOut: (message) => {
				signal.throwIfAborted();
				return this.#timedOut(runId, said, message);
			},
		};
	}

	#timedOut(runId: string, said: Said, message: string): EngineEnd {
		const end: EngineEnd = { outcome: "failed", code: "timed_out", message };
		const step = stepInTurn(said);
		if (step === undefined) {
			return end;
		}
		const { nodeId, attemptId } = step;
		said.timedOut = true;
		// The outcome that follows makes the turn due, with its reason: a fallback must not come before.
		const recoveryExpected = true;
		this.turns.abort({ runId, sessionId: this.#options.session.id, kind: "stepTimeout", nodeId, attemptId, recoveryExpected });
		return { ...end, turnEvent: stranded(said)! };
	}
}

/** The active step, while its turn can be aborted: once that has settled, what goes on in the session is another's. */
function stepInTurn(said: Said | undefined): AgentStep | undefined {
	return said?.settled ? undefined : said?.active;
}

/** The step that a failure stops, or that there was no prompt yet: nobody but the host can know. */
function stranded({ active, prompted, timedOut }: Said): TurnEvent | undefined {
	if (active === undefined) {
		return prompted ? undefined : { nodeId: "$launch" };
	}
	const { nodeId, attemptId } = active;
	return { nodeId, attemptId, ...(timedOut ? { abortCause: "timedOut" as const } : {}) };
}
