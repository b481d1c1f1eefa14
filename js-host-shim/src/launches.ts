import { dispatch, isUnreadable, quietly, telling } from "./dispatch.ts";
import { LaunchFailure, Stopped, type Engine, type EngineEnd, type RunControl } from "./engine.ts";
import type { FailureCode, Finding, LaunchSeen, LaunchStart, LaunchState, LaunchStep, Run, StopReason } from "./ops.ts";
import type { Session } from "./session.ts";
import type { Store } from "./store.ts";

export interface LaunchOptions<Built> {
	store: Store;
	session: Pick<Session, "id" | "idle">;
	engine: Engine<Built>;
	/** This process, unique among those of the store. */
	runnerId: string;
	/** What a running engine may do, beside looking at its claim. */
	control: (run: Pick<RunControl, "runId" | "resumed" | "signal" | "node">) => RunControl;
	/** What is known of how a run ended, before it is told. */
	end?: (runId: string, end: EngineEnd) => EngineEnd;
	/** The outcome of a run was stored, or could not be. */
	ended?: (runId: string, stored: boolean) => void;
	/** The engine of a run was told to stop, and has not ended yet. */
	stopped?: (runId: string, why: StopReason) => void;
	/** Told what no step can be told of. */
	failed?: (error: unknown) => void;
	/** How long a run is claimed, in milliseconds. */
	leaseMs?: number;
}

/** What goes on of the one run that this process has. */
interface Activity<Built> {
	readonly runId: string;
	readonly run?: Run;
	built?: Built;
	readonly stop: AbortController;
	/** The build, or the run: it never throws. */
	going: Promise<void>;
}

/** What was seen, or what came of its last step, and is to be told. */
interface Waiting {
	seen: LaunchSeen;
	/** It is of no interest once an engine was stopped. */
	until?: AbortSignal | undefined;
	/** Called once nothing more follows from it. */
	followed?: () => void;
}

const outcomes: readonly string[] = ["finish", "fail", "cancel", "park"];

/**
 * Activates and recovers the runs of a session: tell it what happens, and it does what docs/contract.md#activation
 * says. One thing is followed to its end before the next. What the core cannot be told now, as where it crashed, is told
 * again with the next thing.
 */
export class LaunchCoordinator<Built = unknown> {
	readonly #options: LaunchOptions<Built>;
	readonly #failed: (error: unknown) => void;
	readonly #waiting: Waiting[] = [];
	#activity: Activity<Built> | undefined;
	#state: LaunchStart | LaunchState;
	#queue: Promise<void> = Promise.resolve();

	constructor(options: LaunchOptions<Built>) {
		this.#options = options;
		this.#failed = telling(options.failed);
		const { session, runnerId, leaseMs } = options;
		this.#state = { sessionId: session.id, runnerId, ...(leaseMs === undefined ? {} : { leaseMs }) };
	}

	/** The session was opened. */
	sessionStart(): Promise<void> {
		return this.#tell({ kind: "sessionStart" });
	}

	/** The turn has ended, and nothing follows it by itself. */
	settled(): Promise<void> {
		return this.#tell({ kind: "settled" });
	}

	/** Time has passed: call it every 3 s. */
	poll(): Promise<void> {
		return this.#tell({ kind: "poll" });
	}

	/** The session closes: what runs is stopped, and its claim given back. */
	async shutdown(): Promise<void> {
		await this.#tell({ kind: "shutdown" });
		await this.#stop(new Stopped("shutdown")); // also where the core could not be asked
	}

	#tell(seen: LaunchSeen, more: Omit<Waiting, "seen"> = {}): Promise<void> {
		const last = this.#waiting.length > 1 ? this.#waiting.at(-1) : undefined;
		if (seen.kind !== "poll" || last?.seen.kind !== "poll") { // one that waits comes as late
			this.#waiting.push({ seen, ...more });
		}
		this.#queue = this.#queue.then(() => this.#follow()).catch(this.#failed);
		return this.#queue;
	}

	async #follow(): Promise<void> {
		for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
			const seen = first.until?.aborted ? undefined : await this.#do(this.#ask(first.seen));
			if (seen === undefined) {
				this.#waiting.shift();
				first.followed?.();
			} else {
				first.seen = seen;
				first.until = undefined; // it was told, and its steps may stop the engine
			}
		}
	}

	#ask(seen: LaunchSeen, otherwise = readable(seen)): LaunchStep {
		const { store, session } = this.#options;
		try {
			const { state, step } = store.nextLaunchStep({ state: this.#state, seen: { ...seen, idle: session.idle() } });
			this.#state = state;
			return step;
		} catch (error) {
			if (!isUnreadable(error)) {
				throw error;
			}
			this.#failed(error);
			return otherwise === null ? { kind: "wait" } : this.#ask(otherwise, null);
		}
	}

	/** Does a step. It never throws: a step without a result would be waited for for ever. */
	async #do(step: LaunchStep): Promise<LaunchSeen | undefined> {
		const runId = step.runId!;
		switch (step.kind) {
			case "wait":
				return undefined;
			case "build":
				this.#build(step.run!);
				return undefined; // it is told when it is built
			case "run":
				this.#run(runId, step.resumed ?? false);
				return undefined; // it is told when it has ended
			case "inspect":
				return { kind: "found", step: step.kind, finding: await this.#inspect(runId) };
			case "writeBundle":
				return { ...(await this.#writeBundle()), step: step.kind };
			case "stop":
				await this.#stop(new Stopped(step.why!));
				return { kind: "done", step: step.kind };
		}
		const result = dispatch(this.#options.store, step);
		const stored = result.kind === "answered";
		if (stored && (step.kind === "recover" || outcomes.includes(step.kind))) {
			this.#activity = undefined;
		}
		if (outcomes.includes(step.kind)) {
			quietly(this.#failed, () => this.#options.ended?.(runId, stored));
		}
		return { ...result, step: step.kind };
	}

	async #inspect(runId: string): Promise<Finding> {
		try {
			return await this.#options.engine.inspect(runId);
		} catch (error) {
			this.#failed(error);
			return { kind: "unreadable" };
		}
	}

	#build(run: Run): void {
		const { engine } = this.#options;
		const { runId } = run;
		const activity: Activity<Built> = { runId, run, stop: new AbortController(), going: Promise.resolve() };
		this.#activity = activity;
		const build = async (): Promise<LaunchSeen> => {
			const workflow = await engine.resolve(run.workflowName);
			const definitionDigest = await engine.digest(workflow);
			activity.built = await engine.build(workflow, run, activity.stop.signal);
			return { kind: "built", runId, definitionDigest };
		};
		// A build acts on nothing: one that hangs is left behind where it is stopped.
		const going = unlessStopped(activity.stop.signal, build());
		activity.going = this.#beside(activity, going.catch((error: unknown) => buildFailed(error, runId)));
	}

	async #writeBundle(): Promise<LaunchSeen> {
		const { run, built } = this.#activity!;
		try {
			await this.#options.engine.writeBundle(run!, built as Built);
		} catch (error) {
			return buildFailed(error);
		}
		return { kind: "done" };
	}

	#run(runId: string, resumed: boolean): void {
		const { engine, control, end = (_, as) => as } = this.#options;
		const { run, built } = (resumed ? undefined : this.#activity) ?? {};
		const activity: Activity<Built> = { runId, stop: new AbortController(), going: Promise.resolve() };
		this.#activity = activity;
		const over = new AbortController(); // what an engine does after its end must not count
		const signal = AbortSignal.any([activity.stop.signal, over.signal]);
		const looked = () => new Promise<void>((followed) => void this.#tell({ kind: "node", runId }, { until: signal, followed }));
		const node = () => {
			const may = unlessStopped(signal, looked());
			may.catch(() => {}); // an engine that does not wait for it must not end the process
			return may;
		};
		const start = async () => engine.start(control({ runId, resumed, signal, node }), built);
		const settled = start().catch(crash).finally(() => over.abort(new Stopped("ended")));
		const told = settled.then((as) => end(runId, as));
		const ended = told.catch(crash).then(({ outcome, code, message, turnEvent, input = run?.input }): LaunchSeen =>
			definedOnly({ kind: "ended", runId, outcome, code, message, turnEvent, input }),
		);
		activity.going = this.#beside(activity, ended);
	}

	/** Tells what came of something that goes on beside the steps, unless it was stopped. */
	#beside(activity: Activity<Built>, going: Promise<LaunchSeen>): Promise<void> {
		const { signal } = activity.stop;
		return going.then((seen) => {
			void this.#tell(seen, { until: signal });
		});
	}

	async #stop(why: Stopped): Promise<void> {
		const activity = this.#activity;
		this.#activity = undefined;
		if (activity === undefined) {
			return;
		}
		activity.stop.abort(why);
		quietly(this.#failed, () => this.#options.stopped?.(activity.runId, why.why));
		await activity.going;
	}
}

/** Waits, but not where it is stopped first: the step that stops an engine waits for its end. */
function unlessStopped<T>(signal: AbortSignal, told: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const stopped = () => reject(signal.reason as Stopped);
		if (signal.aborted) {
			stopped();
		}
		signal.addEventListener("abort", stopped, { once: true });
		void told.then(resolve, reject).finally(() => signal.removeEventListener("abort", stopped));
	});
}

function buildFailed(error: unknown, runId?: string): LaunchSeen {
	return definedOnly({ kind: "buildFailed", code: codeOf(error), message: words(error), runId });
}

/** Of whatever was thrown: even a look at it may throw. */
function codeOf(error: unknown): FailureCode {
	try {
		return error instanceof LaunchFailure ? error.code : "activation_failed";
	} catch {
		return "activation_failed";
	}
}

/** What is undefined is not told. */
function definedOnly(seen: { [K in keyof LaunchSeen]: LaunchSeen[K] | undefined }): LaunchSeen {
	return Object.fromEntries(Object.entries(seen).filter(([, value]) => value !== undefined)) as unknown as LaunchSeen;
}

function crash(error: unknown): EngineEnd {
	return { outcome: "failed", code: "run_failed", message: words(error) };
}

/** What an error says, whatever was thrown; half a character, which no JSON may hold, is replaced. */
function words(error: unknown): string {
	try {
		return Buffer.from(error instanceof Error ? error.message : String(error)).toString();
	} catch {
		return "what was thrown cannot be shown";
	}
}

/** What is told where the core cannot read what an engine said: it would be waited for for ever. */
function readable({ kind, step, runId }: LaunchSeen): LaunchSeen | null {
	const message = "what the engine said cannot be read";
	switch (kind) {
		case "built":
		case "buildFailed":
			return { kind: "buildFailed", code: "activation_failed", message, ...(step === undefined ? { runId: runId! } : { step }) };
		case "ended":
			return { kind, runId: runId!, outcome: "failed", code: "run_failed", message };
		case "found":
			return { kind, step: step!, finding: { kind: "unreadable" } };
	}
	return null;
}
