import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Engine } from "./engine.ts";
import { WorkflowHost } from "./host.ts";
import type { Session, SessionEntry, SessionMessage } from "./session.ts";
import type { Store } from "./store.ts";

export interface PiOptions<Built> {
	/** Opens the store of a session's project. It is closed when the session shuts down. */
	openStore: (ctx: ExtensionContext) => Store;
	engine: (ctx: ExtensionContext) => Engine<Built>;
	/** Whether the user holds the workflow. */
	held?: () => boolean;
	/** How often to look for what is due, in milliseconds: 3,000. */
	pollMs?: number;
	leaseMs?: number;
}

export interface PiWorkflows<Built> {
	/** The host of the session that is open. Throws where there is none, or its store cannot be opened. */
	host(): WorkflowHost<Built>;
	/** Its store. */
	store(): Store;
}

/** What is open for one session: Pi replaces it on /new, /resume, /fork and /reload. */
interface Open<Built> {
	store: Store;
	host: WorkflowHost<Built>;
}

/** The session that Pi has. */
interface Current {
	ctx: ExtensionContext;
	timer: NodeJS.Timeout;
	/** What the user was told last. */
	told: string;
}

/** Binds both coordinators to Pi's events. Call it once, in the extension's factory. */
export function bindPi<Built>(pi: ExtensionAPI, options: PiOptions<Built>): PiWorkflows<Built> {
	let open: Open<Built> | undefined;
	let current: Current | undefined;

	pi.on("session_start", async (_event, ctx) => {
		await close();
		current = { ctx, timer: setInterval(() => void poll(), options.pollMs ?? 3000).unref(), told: "" };
		await poll();
	});
	pi.on("agent_start", () => open?.host.turnStarted());
	pi.on("message_end", () => open?.host.activity());
	pi.on("agent_settled", () => open?.host.settled());
	pi.on("session_shutdown", close);

	/** Nothing may be sent while a session shuts down: its claims are given back. */
	async function close(): Promise<void> {
		const closing = open;
		clearInterval(current?.timer);
		open = current = undefined;
		await closing?.host.shutdown();
		closing?.store.close();
	}

	/** Also opens a store that could not be opened before. */
	async function poll(): Promise<void> {
		try {
			await opened().host.poll();
		} catch (error) {
			tell(current, error);
		}
	}

	/** Opens the store, also where that failed before: a tool's call then says why, in the same call. */
	function opened(): Open<Built> {
		if (current === undefined) {
			throw new Error("no session is open");
		}
		if (open === undefined) {
			open = start(pi, current, options);
			void open.host.sessionStart();
		}
		return open;
	}
	return { host: () => opened().host, store: () => opened().store };
}

function start<Built>(pi: ExtensionAPI, current: Current, options: PiOptions<Built>): Open<Built> {
	const { ctx } = current;
	const engine = options.engine(ctx);
	const store = options.openStore(ctx);
	for (const { message } of store.warnings) {
		ctx.ui.notify(message, "warning");
	}
	const { leaseMs } = options;
	const host = new WorkflowHost({
		store,
		session: new PiSession(pi, ctx, options.held ?? (() => false)),
		engine,
		report: (runId) => ctx.ui.notify(`What happened to run ${runId} could not be stored: its agent may never hear of it.`, "error"),
		failed: (error) => tell(current, error),
		...(leaseMs === undefined ? {} : { leaseMs }),
	});
	return { store, host };
}

/** Tells the user what is wrong, once as long as it stays so. */
function tell(current: Current | undefined, error: unknown): void {
	const text = `workflows: ${error instanceof Error ? error.message : String(error)}`;
	if (current !== undefined && current.told !== text) {
		current.told = text;
		current.ctx.ui.notify(text, "error");
	}
}

class PiSession implements Session {
	readonly id: string;
	readonly held: () => boolean;
	readonly #pi: ExtensionAPI;
	readonly #ctx: ExtensionContext;

	constructor(pi: ExtensionAPI, ctx: ExtensionContext, held: () => boolean) {
		this.#pi = pi;
		this.#ctx = ctx;
		this.id = ctx.sessionManager.getSessionId();
		this.held = held;
	}

	idle(): boolean {
		return this.#ctx.isIdle() && !this.#ctx.hasPendingMessages();
	}

	*entries(): Iterable<SessionEntry> {
		for (const entry of this.#ctx.sessionManager.getEntries()) {
			if (entry.type === "custom_message") {
				yield { customType: entry.customType, details: (entry.details ?? {}) as SessionEntry["details"] };
			}
		}
	}

	send({ customType, content, display = true, details = {}, deliverAs, triggerTurn = false }: SessionMessage): void {
		this.#pi.sendMessage({ customType, content, display, details }, { triggerTurn, ...(deliverAs === undefined ? {} : { deliverAs }) });
	}

	abort(): void {
		this.#ctx.abort();
	}
}
