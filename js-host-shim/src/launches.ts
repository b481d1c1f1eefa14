import { dispatch } from "./dispatch.ts";
import { LaunchFailure, Stopped, type Engine, type EngineEnd, type RunControl } from "./engine.ts";
import type { FailureCode, Finding, LaunchSeen, LaunchStart, LaunchState, LaunchStep, Run } from "./ops.ts";
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
	/** Told what no step can be told of. */
	failed?: (error: unknown) => void;
	/** How long a run is claimed, in milliseconds. */
	leaseMs?: number;
}

/** What goes on of a run in this process. */
interface Activity<Built> {
	run?: Run;
	built?: Built;
	readonly stop: AbortController;
	/** The build, or the run: it never throws. */
	going: Promise<void>;
}

const outcomes: readonly string[] = ["finish", "fail", "cancel", "park"];

/**
 * Activates and recovers the runs of a session: tell it what happens, and it does what docs/contract.md#activation
 * says. One thing is followed to its end before the next.
 */
export class LaunchCoordinator<Built = unknown> {
	readonly #options: LaunchOptions<Built>;
	readonly #activities = new Map<string, Activity<Built>>();
	#state: LaunchStart | LaunchState;
	#queue: Promise<void> = Promise.resolve();

	constructor(options: LaunchOptions<Built>) {
		this.#options = options;
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
	shutdown(): Promise<void> {
		return this.#tell({ kind: "shutdown" });
	}

	#tell(seen: LaunchSeen): Promise<void> {
		this.#queue = this.#queue.then(() => this.#follow(seen)).catch((error: unknown) => this.#options.failed?.(error));
		return this.#queue;
	}

	async #follow(what: LaunchSeen): Promise<void> {
		const { store, session } = this.#options;
		for (let seen: LaunchSeen | undefined = what; seen !== undefined; ) {
			const { state, step } = store.nextLaunchStep({ state: this.#state, seen: { ...seen, idle: session.idle() } });
			this.#state = state;
			seen = await this.#do(step);
		}
	}

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
				return { ...(await this.#writeBundle(runId)), step: step.kind };
			case "stop":
				await this.#stop(runId, new Stopped(step.why!));
				return { kind: "done", step: step.kind };
		}
		const result = dispatch(this.#options.store, step);
		if (outcomes.includes(step.kind)) {
			this.#options.ended?.((step.request as { runId: string }).runId, result.kind === "answered");
		}
		return { ...result, step: step.kind };
	}

	async #inspect(runId: string): Promise<Finding> {
		try {
			return await this.#options.engine.inspect(runId);
		} catch {
			return { kind: "unreadable" };
		}
	}

	#build(run: Run): void {
		const { engine } = this.#options;
		const activity: Activity<Built> = { run, stop: new AbortController(), going: Promise.resolve() };
		this.#activities.set(run.runId, activity);
		const build = async (): Promise<LaunchSeen> => {
			const workflow = await engine.resolve(run.workflowName);
			const definitionDigest = await engine.digest(workflow);
			activity.built = await engine.build(workflow, run, activity.stop.signal);
			return { kind: "built", runId: run.runId, definitionDigest };
		};
		activity.going = this.#beside(activity, build().catch((error: unknown) => buildFailed(error, run.runId)));
	}

	async #writeBundle(runId: string): Promise<LaunchSeen> {
		const { run, built } = this.#activities.get(runId)!;
		try {
			await this.#options.engine.writeBundle(run!, built as Built);
		} catch (error) {
			return buildFailed(error);
		}
		return { kind: "done" };
	}

	#run(runId: string, resumed: boolean): void {
		const { engine, control, end = (_, as) => as } = this.#options;
		const activity: Activity<Built> = { stop: new AbortController(), going: Promise.resolve() };
		const built = this.#activities.get(runId)?.built;
		this.#activities.set(runId, activity);
		const { signal } = activity.stop;
		const node = () => unlessStopped(signal, this.#tell({ kind: "node", runId }));
		const start = async () => engine.start(control({ runId, resumed, signal, node }), resumed ? undefined : built);
		const ended = start().catch(crash).then((as): LaunchSeen => ({ kind: "ended", runId, ...end(runId, as) }));
		activity.going = this.#beside(activity, ended);
	}

	/** Tells what came of something that goes on beside the steps, unless it was stopped. */
	#beside(activity: Activity<Built>, going: Promise<LaunchSeen>): Promise<void> {
		return going.then((seen) => {
			if (!activity.stop.signal.aborted) {
				void this.#tell(seen);
			}
		});
	}

	async #stop(runId: string, why: Stopped): Promise<void> {
		const activity = this.#activities.get(runId);
		this.#activities.delete(runId);
		activity?.stop.abort(why);
		await activity?.going;
	}
}

/** Waits, but not where it is stopped first: a step that stops it waits for its end. */
function unlessStopped(signal: AbortSignal, told: Promise<void>): Promise<void> {
	return new Promise((resolve, reject) => {
		const stopped = () => reject(signal.reason as Stopped);
		if (signal.aborted) {
			stopped();
		}
		signal.addEventListener("abort", stopped, { once: true });
		void told.then(resolve).finally(() => signal.removeEventListener("abort", stopped));
	});
}

function buildFailed(error: unknown, runId?: string): LaunchSeen {
	return { kind: "buildFailed", ...why(error, "activation_failed"), ...(runId === undefined ? {} : { runId }) };
}

function crash(error: unknown): EngineEnd {
	return { outcome: "failed", ...why(error, "run_failed") };
}

function why(error: unknown, otherwise: FailureCode): { code: FailureCode; message: string } {
	const message = error instanceof Error ? error.message : String(error);
	return { code: error instanceof LaunchFailure ? error.code : otherwise, message };
}
