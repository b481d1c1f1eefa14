import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { openStore, type Json, type Origin, type Store } from "wfcore-host-shim";
import { bindPi, type PiWorkflows } from "wfcore-host-shim/pi";
import { LiteEngine } from "./engine.ts";
import { messageOf, type Definition } from "./workflows.ts";

/** For tests. */
export interface LiteOptions {
	openStore?: (path: string) => Store;
	pollMs?: number;
	leaseMs?: number;
}

interface Params {
	action: "list" | "start" | "status" | "cancel" | "submit";
	name?: string;
	input?: Json;
	runId?: string;
	step?: string;
	result?: Json;
}

interface Answer {
	text: string;
	details?: object | null;
}

const description = `Runs the project's workflows.
- list: the workflows that there are
- start {name, input}: queues a run. A queued run starts only after your turn ends: end the turn, do not wait, sleep or poll. If a launch fails you will be told in a later turn.
- status {runId?}: how a run stands; without runId, that of this session
- cancel {runId?}: ends a run
- submit {runId, step, result}: hands in the result of the step that you were asked for`;

const parameters = {
	type: "object",
	properties: {
		action: { type: "string", enum: ["list", "start", "status", "cancel", "submit"] },
		name: { type: "string", description: "of the workflow, for start" },
		input: { description: "of the workflow, for start: any JSON" },
		runId: { type: "string", description: "for submit; for status and cancel where it is not the run of this session" },
		step: { type: "string", description: "that you were asked to do, for submit" },
		result: { description: "for submit: any JSON" },
	},
	required: ["action"],
};

const usage = "usage: /workflow start NAME [JSON] | /workflow status [RUNID] | /workflow cancel [RUNID]";

export default function workflowsLite(pi: ExtensionAPI, options: LiteOptions = {}): void {
	const { openStore: open = (path) => openStore({ path }), ...times } = options;
	let engine: LiteEngine;
	const folder = (ctx: ExtensionContext) => join(ctx.cwd, ".pi", "workflows-lite");
	const workflows = bindPi<Definition>(pi, {
		...times,
		openStore: (ctx) => open(join(folder(ctx), "store.sqlite")),
		engine: (ctx) => (engine = new LiteEngine(ctx.cwd, folder(ctx), () => ctx.isProjectTrusted())),
	});
	const actions = new Actions(workflows, () => {
		workflows.host(); // or it says why there is none
		return engine;
	});

	pi.registerTool({
		name: "workflow",
		label: "Workflow",
		description,
		promptSnippet: "Start, inspect and cancel the project's workflows",
		parameters,
		executionMode: "sequential",
		async execute(_id, params) {
			const { text, details } = await coded(() => actions.tool(params as Params));
			return { content: [{ type: "text", text }], details: details ?? {} };
		},
	});
	pi.registerCommand("workflow", {
		description: "Start, show and cancel the project's workflows",
		async handler(args, ctx) {
			try {
				ctx.ui.notify((await coded(() => actions.command(args))).text, "info");
			} catch (error) {
				ctx.ui.notify(messageOf(error), "error");
			}
		},
	});
}

/** What the model's tool and the user's command do. */
class Actions {
	readonly #workflows: PiWorkflows<Definition>;
	readonly #engine: () => LiteEngine;

	constructor(workflows: PiWorkflows<Definition>, engine: () => LiteEngine) {
		this.#workflows = workflows;
		this.#engine = engine;
	}

	async tool({ action, name, input = null, runId, step, result = null }: Params): Promise<Answer> {
		switch (action) {
			case "list":
				return this.#list();
			case "start": {
				const started = await this.#start(name, input);
				return { ...started, text: `${started.text} It starts when this turn ends: end the turn, do not wait or poll.` };
			}
			case "status":
				return this.#status(runId);
			case "cancel":
				return this.#cancel(runId, "agent");
			case "submit":
				this.#engine().submit(needed(runId, "runId"), needed(step, "step"), result);
				return { text: "The step has its result." };
		}
	}

	async command(args: string): Promise<Answer> {
		const [, action, argument, rest = ""] = /^(\S+)(?:\s+(\S+))?(?:\s+(.*))?$/s.exec(args.trim()) ?? [];
		if (action === "start" && argument !== undefined) {
			const started = await this.#start(argument, parsed(rest));
			await this.#workflows.host().poll(); // outside a turn it starts at once
			return started;
		}
		if (rest === "" && action === "status") {
			return this.#status(argument);
		}
		if (rest === "" && action === "cancel") {
			return this.#cancel(argument, "user");
		}
		throw new Error(usage);
	}

	async #list(): Promise<Answer> {
		const { workflows } = this.#engine();
		const line = async (name: string) => {
			try {
				const { description = "" } = await workflows.load(workflows.find(name), "start");
				return `${name}: ${description}`;
			} catch (error) {
				return messageOf(error);
			}
		};
		const lines = await Promise.all(workflows.names().map(line));
		return { text: lines.join("\n") || "There are no workflows in .pi/workflows-lite/workflows." };
	}

	async #start(name: string | undefined, input: Json): Promise<Answer> {
		const { text, result } = await this.#workflows.host().start(needed(name, "name"), input);
		return { text, details: result };
	}

	#status(runId: string | undefined): Answer {
		const run = this.#workflows.host().status(runId);
		if (run === null) {
			return { text: "This session has no run." };
		}
		return { text: `${run.line} ${this.#engine().progress(run.runId)}`.trimEnd(), details: run };
	}

	async #cancel(runId: string | undefined, origin: Origin): Promise<Answer> {
		const host = this.#workflows.host();
		const id = runId ?? host.status()?.runId;
		if (id === undefined) {
			throw new Error("This session has no run.");
		}
		const run = await host.cancel(id, origin);
		return { text: run?.line ?? "", details: run };
	}
}

function needed(value: string | undefined, name: string): string {
	if (value === undefined) {
		throw new Error(`${name} is missing`);
	}
	return value;
}

function parsed(text: string): Json {
	try {
		return text === "" ? null : (JSON.parse(text) as Json);
	} catch (error) {
		throw new Error(`the input is not JSON: ${messageOf(error)}\n${usage}`);
	}
}

/** Errors are told with their code, which is what to match. */
async function coded<T>(act: () => Promise<T>): Promise<T> {
	try {
		return await act();
	} catch (error) {
		const { code } = error as { code?: unknown };
		throw typeof code === "string" ? new Error(`${code}: ${messageOf(error)}`, { cause: error }) : error;
	}
}
