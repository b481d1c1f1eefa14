import { join, relative } from "node:path";
import { LaunchFailure, type Engine, type EngineEnd, type Finding, type Json, type Run, type RunControl, type Workflow } from "wfcore-host-shim";
import { Bundles, type Bundle } from "./bundles.ts";
import { check, messageOf, Workflows, type Definition, type PromptStep, type StepContext } from "./workflows.ts";

/** A run ends before its last step. */
class Ended extends Error {
	readonly end: EngineEnd;

	constructor(end: EngineEnd) {
		super(end.message);
		this.end = end;
	}
}

/** Runs the steps of a workflow one after the other, and keeps what is finished in the run's bundle. */
export class LiteEngine implements Engine<Definition> {
	readonly workflows: Workflows;
	readonly #cwd: string;
	readonly #bundles: Bundles;
	/** Who waits for the agent's result, by run. */
	readonly #waiting = new Map<string, { step: string; take: (result: Json) => void }>();

	constructor(cwd: string, folder: string, trusted: () => boolean) {
		this.#cwd = cwd;
		this.workflows = new Workflows(join(folder, "workflows"), trusted);
		this.#bundles = new Bundles(join(folder, "runs"));
	}

	resolve(name: string): Workflow {
		const { file, digest } = this.workflows.find(name);
		const path = relative(this.#cwd, file);
		return { name, sourceRef: `file:${path}`, source: { file: path, digest } };
	}

	async validate(workflow: Workflow, input: Json): Promise<void> {
		await check(await this.workflows.load(this.workflows.find(workflow.name), "start"), input);
	}

	digest(workflow: Workflow): string {
		return (workflow.source as { digest: string }).digest;
	}

	build(workflow: Workflow, run: Run, signal: AbortSignal): Promise<Definition> {
		return unlessAborted(signal, this.#load(workflow.name, run.definitionDigest, run.runId));
	}

	writeBundle(run: Run): void {
		this.#bundles.write({
			schema: "workflows-lite.run.v1",
			runId: run.runId,
			workflow: run.workflowName,
			digest: run.definitionDigest,
			input: run.input ?? null,
			state: "running",
			finished: [],
			active: null,
			error: null,
		});
	}

	inspect(runId: string): Finding {
		const bundle = this.#bundles.read(runId);
		if (bundle === undefined) {
			return { kind: "none" };
		}
		switch (bundle.state) {
			case "running":
				return { kind: this.#changed(bundle) ? "sourceChanged" : "running" };
			case "failed":
				return { kind: "terminal", status: "failed", ...bundle.error };
			default:
				return { kind: "terminal", status: bundle.state };
		}
	}

	async start(control: RunControl, built: Definition | undefined): Promise<EngineEnd> {
		const bundle = this.#bundles.read(control.runId)!;
		try {
			const definition = built ?? (await this.#load(bundle.workflow, bundle.digest, control.runId));
			for (const step of definition.steps.slice(bundle.finished.length)) {
				await this.#step(step, bundle, control);
			}
		} catch (error) {
			return this.#failed(bundle, error, control.signal);
		}
		this.#bundles.write({ ...bundle, state: "done", active: null });
		return { outcome: "done" };
	}

	/** Takes the agent's result of the step that waits for it. It is kept when this returns. */
	submit(runId: string, step: string, result: Json): void {
		const waiting = this.#waiting.get(runId);
		if (waiting === undefined) {
			throw new Error(`run ${runId} has no step here that waits for a result; look at its status. After a restart it asks again, within half a minute`);
		}
		if (waiting.step !== step) {
			throw new Error(`run ${runId} waits for the result of step ${waiting.step}, not of ${step}`);
		}
		waiting.take(result);
	}

	/** What a bundle tells beside the run's line, if there is one. */
	progress(runId: string): string {
		let bundle: Bundle | undefined;
		try {
			bundle = this.#bundles.read(runId);
		} catch {
			return "Its bundle cannot be read.";
		}
		if (bundle === undefined) {
			return "";
		}
		const steps = bundle.finished.map(({ step }) => step).join(", ") || "none";
		const active = bundle.active === null ? "" : ` Step begun: ${bundle.active.step} (attempt ${bundle.active.attempt}).`;
		return `Finished steps: ${steps}.${active}`;
	}

	/** Code that is not what was started is not even imported. */
	async #load(name: string, digest: string, runId: string): Promise<Definition> {
		const source = this.workflows.find(name);
		if (source.digest !== digest) {
			throw new LaunchFailure("source_changed", `${name}.mjs changed after the start`);
		}
		return this.workflows.load(source, runId);
	}

	#changed({ workflow, digest }: Bundle): boolean {
		try {
			return this.workflows.find(workflow).digest !== digest;
		} catch {
			return true;
		}
	}

	/** A step that was begun and not finished is begun again, as its next attempt. */
	async #step(step: Definition["steps"][number], bundle: Bundle, control: RunControl): Promise<void> {
		await control.node();
		const attempt = bundle.active?.step === step.name ? bundle.active.attempt + 1 : 1;
		bundle.active = { step: step.name, attempt };
		this.#bundles.write(bundle);
		const { runId, signal } = control;
		const results = Object.fromEntries(bundle.finished.map((each) => [each.step, each.result]));
		const ctx: StepContext = { runId, cwd: this.#cwd, input: bundle.input, results, signal };
		const finish = (result: unknown) => {
			const done = { step: step.name, result: JSON.parse(JSON.stringify(result) ?? "null") as Json };
			const next = { finished: [...bundle.finished, done], active: null };
			this.#bundles.write({ ...bundle, ...next });
			Object.assign(bundle, next); // only what was written is finished
		};
		if ("prompt" in step) {
			await this.#ask(step, String(attempt), ctx, control, finish);
		} else {
			finish(await unlessAborted(signal, (async () => step.run(ctx))()));
		}
	}

	async #ask(step: PromptStep, attemptId: string, ctx: StepContext, control: RunControl, finish: (result: Json) => void): Promise<void> {
		const { runId } = ctx;
		const asked: unknown = await step.prompt(ctx);
		if (typeof asked !== "string") {
			throw new Error(`the prompt of step ${step.name} is no text`);
		}
		const content = `${asked}\n\nThis is step ${step.name} of workflow run ${runId}. ${howToSubmit(runId, step.name)}`;
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const take = (result: Json) => {
			finish(result);
			this.#waiting.delete(runId);
			resolve();
		};
		this.#waiting.set(runId, { step: step.name, take });
		const late = () => reject(new Ended(control.timedOut(`step ${step.name} took longer than ${step.timeoutMs} ms`)));
		control.prompt({ nodeId: step.name, attemptId, content });
		const timer = step.timeoutMs === undefined ? undefined : setTimeout(late, step.timeoutMs).unref();
		try {
			await unlessAborted(ctx.signal, promise);
		} finally {
			clearTimeout(timer);
			this.#waiting.delete(runId);
			control.stepEnded();
		}
	}

	/** A bundle goes on in another process unless the run has failed or was cancelled. */
	#failed(bundle: Bundle, error: unknown, signal: AbortSignal): EngineEnd {
		if (signal.aborted) {
			if ((signal.reason as { why?: string }).why === "cancelled") {
				this.#bundles.write({ ...bundle, state: "cancelled" });
			}
			throw signal.reason;
		}
		const end: EngineEnd = error instanceof Ended ? error.end : { outcome: "failed", code: "run_failed", message: messageOf(error) };
		this.#bundles.write({ ...bundle, state: "failed", error: { code: end.code ?? "run_failed", message: end.message ?? "" } });
		return { ...end, input: bundle.input };
	}
}

function howToSubmit(runId: string, step: string): string {
	const call = JSON.stringify({ action: "submit", runId, step, result: "…" });
	return `When it is done, call the tool workflow with ${call}; the result may be any JSON.`;
}

function unlessAborted<T>(signal: AbortSignal, going: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const aborted = () => reject(signal.reason as Error);
		if (signal.aborted) {
			aborted();
		}
		signal.addEventListener("abort", aborted, { once: true });
		going.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
	});
}
