import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LaunchFailure, type Json } from "wfcore-host-shim";
import { importModule } from "./import.js";

/** What a step is given. */
export interface StepContext {
	readonly runId: string;
	readonly cwd: string;
	readonly input: Json;
	/** What the steps before it returned, by their names. */
	readonly results: { readonly [step: string]: Json };
	/** Aborted when the run must not go on. */
	readonly signal: AbortSignal;
}

/** A step that the host does: what it returns is its result, as JSON. */
export interface FunctionStep {
	name: string;
	run(ctx: StepContext): unknown;
}

/** A step that the agent does: what it submits is its result. */
export interface PromptStep {
	name: string;
	prompt(ctx: StepContext): string;
	/** How long it may take, from its prompt on; without it, as long as it takes. */
	timeoutMs?: number;
}

/** The default export of a workflow's file. */
export interface Definition {
	/** The name of its file. */
	name: string;
	description?: string;
	/** Refuses an input: throws, or returns what is wrong with it. */
	check?(input: Json): unknown;
	steps: (FunctionStep | PromptStep)[];
}

/** A file of a workflow, as it was read. */
export interface Source {
	name: string;
	file: string;
	/** Of its bytes; what it imports does not count. */
	digest: string;
}

/** A folder of workflows: NAME.mjs each. */
export class Workflows {
	readonly #folder: string;
	readonly #trusted: () => boolean;

	/** The code of a project that the user does not trust is not run. */
	constructor(folder: string, trusted: () => boolean) {
		this.#folder = folder;
		this.#trusted = trusted;
	}

	names(): string[] {
		try {
			const files = readdirSync(this.#folder).filter((file) => /^[a-z0-9-]+\.mjs$/.test(file));
			return files.map((file) => file.slice(0, -".mjs".length)).sort();
		} catch {
			return [];
		}
	}

	find(name: string): Source {
		if (!this.#trusted()) {
			throw new LaunchFailure("workflow_not_found", "the project is not trusted, so its workflows do not run");
		}
		if (!/^[a-z0-9-]{1,64}$/.test(name)) {
			throw new LaunchFailure("workflow_not_found", "a workflow's name is of a-z, 0-9 and -");
		}
		const file = join(this.#folder, `${name}.mjs`);
		try {
			const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
			return { name, file, digest: `sha256:${digest}` };
		} catch (cause) {
			const known = this.names().join(", ") || "none";
			throw new LaunchFailure("workflow_not_found", `there is no workflow ${name}; there are: ${known}`, { cause });
		}
	}

	/** Imports what `find` found, once for each purpose. */
	async load({ name, file, digest }: Source, purpose: string): Promise<Definition> {
		const url = pathToFileURL(file);
		url.search = new URLSearchParams({ digest, purpose }).toString();
		let definition: unknown;
		try {
			definition = (await inTime(importModule(url.href))).default;
		} catch (cause) {
			throw new LaunchFailure("workflow_invalid", `${name}.mjs cannot be imported: ${messageOf(cause)}`, { cause });
		}
		if (this.find(name).digest !== digest) {
			throw new LaunchFailure("source_changed", `${name}.mjs changed while it was imported`);
		}
		const wrong = fault(definition, name);
		if (wrong !== undefined) {
			throw new LaunchFailure("workflow_invalid", `${name}.mjs: ${wrong}`);
		}
		return definition as Definition;
	}
}

/** A file that does not come to an end of its top level must not hold up the session. */
async function inTime<T>(loading: Promise<T>): Promise<T> {
	const { promise, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => reject(new Error("it does not end within 10 s")), 10_000);
	try {
		return await Promise.race([loading, promise]);
	} finally {
		clearTimeout(timer);
	}
}

export async function check(definition: Definition, input: Json): Promise<void> {
	let wrong: unknown;
	try {
		wrong = await definition.check?.(input);
	} catch (cause) {
		throw new LaunchFailure("input_invalid", messageOf(cause), { cause });
	}
	if (typeof wrong === "string") {
		throw new LaunchFailure("input_invalid", wrong);
	}
}

export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

function fault(definition: unknown, name: string): string | undefined {
	const { name: named, check: checks, steps } = (definition ?? {}) as Partial<Definition>;
	if (named !== name) {
		return `its default export must have the name ${name}`;
	}
	if (checks !== undefined && typeof checks !== "function") {
		return "check must be a function";
	}
	if (!Array.isArray(steps) || steps.length === 0) {
		return "it must have steps";
	}
	const names = new Set(steps.map((step) => step?.name));
	const sound = (step: Partial<FunctionStep & PromptStep>) =>
		/^[a-z0-9-]{1,64}$/.test(String(step?.name)) && (typeof step.run === "function") !== (typeof step.prompt === "function");
	if (!steps.every(sound) || names.size !== steps.length) {
		return "each step must have a name of its own (a-z, 0-9, -), and either run or prompt";
	}
	// A longer timer would fire at once.
	const timed = steps.every(({ timeoutMs = 1 }: Partial<PromptStep>) => Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs < 2 ** 31);
	return timed ? undefined : "timeoutMs must be milliseconds, from 1 to 2147483647";
}
