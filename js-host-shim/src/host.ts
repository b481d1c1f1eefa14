import { randomUUID } from "node:crypto";
import type { AgentStep, Engine, EngineEnd, RunControl } from "./engine.ts";
import { LaunchCoordinator } from "./launches.ts";
import type { Json, JsonObject, Origin, ReserveResponse, RunStatus, TurnEvent } from "./ops.ts";
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
	active?: AgentStep;
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
	readonly #said = new Map<string, Said>();

	constructor(options: HostOptions<Built>) {
		this.#options = options;
		this.runnerId = options.runnerId ?? randomUUID();
		this.turns = new TurnCoordinator(options);
		this.launches = new LaunchCoordinator({
			...options,
			runnerId: this.runnerId,
			control: (run) => this.#control(run),
			end: (runId, end) => (this.#stranded(runId, end) ? { ...end, turnEvent: { nodeId: "$launch" } } : end),
			ended: (runId, stored) => {
				this.#said.delete(runId);
				this.#quietly(() => this.turns.ended(runId, stored));
			},
		});
	}

	/**
	 * Checks a start and stores it: the run is queued, and starts when the turn has settled. What the engine throws passes,
	 * and leaves no row; so does a WfcoreError, as `session_reserved`, which names the run in the way.
	 */
	async start(name: string, input: Json, options: StartOptions = {}): Promise<ReserveResponse> {
		const { store, session, engine } = this.#options;
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

	/** Cancels a run of the session. The agent's own cancel in its active step aborts its turn, and owes it a later one. */
	async cancel(runId: string, origin: Origin): Promise<RunStatus | null> {
		const { store, session } = this.#options;
		const sessionId = session.id;
		const step = origin === "agent" ? this.activeStep(runId) : undefined;
		let turnEvent: TurnEvent | undefined;
		if (step !== undefined) {
			const { nodeId, attemptId } = step;
			turnEvent = { nodeId, attemptId, abortCause: "agentCancelled" };
			this.turns.abort({ runId, sessionId, kind: "agentCancel", nodeId, attemptId, origin });
		}
		let stored = false;
		try {
			store.cancelPreparedRun({ runId, sessionId, origin, ...(turnEvent === undefined ? {} : { turnEvent }) });
			stored = true;
		} finally {
			this.turns.ended(runId, stored);
			await this.launches.poll();
		}
		return store.getRun({ runId });
	}

	async sessionStart(): Promise<void> {
		await this.launches.sessionStart();
		this.#quietly(() => this.turns.sessionStart());
	}

	async settled(): Promise<void> {
		await this.launches.settled();
		this.#quietly(() => this.turns.settled());
	}

	async poll(): Promise<void> {
		await this.launches.poll();
		this.#quietly(() => this.turns.poll());
	}

	turnStarted(): void {
		this.#quietly(() => this.turns.turnStarted());
	}

	activity(): void {
		this.#quietly(() => this.turns.activity());
	}

	async shutdown(): Promise<void> {
		await this.launches.shutdown();
		this.#quietly(() => this.turns.shutdown());
	}

	/** The run failed before its first prompt: nobody but the host can know. */
	#stranded(runId: string, end: EngineEnd): boolean {
		return end.outcome === "failed" && end.turnEvent === undefined && this.#said.get(runId)?.prompted === false;
	}

	#quietly(tell: () => void): void {
		try {
			tell();
		} catch (error) {
			this.#options.failed?.(error);
		}
	}

	#control(run: Pick<RunControl, "runId" | "resumed" | "signal" | "node">): RunControl {
		const { runId } = run;
		const said: Said = { prompted: run.resumed };
		this.#said.set(runId, said);
		return {
			...run,
			prompt: (step) => {
				said.prompted = true;
				said.active = step;
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
			present: (messageId, content) =>
				this.turns.natural({
					runId,
					messageId,
					resolution: "presentation",
					message: { customType: "pi-workflows-presentation", content, details: { runId }, deliverAs: "followUp", triggerTurn: true },
				}),
			timedOut: (message) => this.#timedOut(runId, message),
		};
	}

	#timedOut(runId: string, message: string): EngineEnd {
		const end: EngineEnd = { outcome: "failed", code: "timed_out", message };
		const step = this.activeStep(runId);
		if (step === undefined) {
			return end;
		}
		const { nodeId, attemptId } = step;
		this.turns.abort({ runId, sessionId: this.#options.session.id, kind: "stepTimeout", nodeId, attemptId });
		return { ...end, turnEvent: { nodeId, attemptId, abortCause: "timedOut" } };
	}
}
