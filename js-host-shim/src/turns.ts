import { dispatch, isUnreadable, quietly, telling } from "./dispatch.ts";
import type { NoteTurnRequest, TurnSeen, TurnStart, TurnState, TurnStep } from "./ops.ts";
import type { NaturalMessage, Session, SessionMessage } from "./session.ts";
import type { Store } from "./store.ts";

export interface TurnOptions {
	store: Store;
	session: Session;
	/** Tells the user that the agent of a run may never hear of what happened. */
	report?: (runId: string) => void;
	/** Told of errors that no step can be told of. */
	failed?: (error: unknown) => void;
	/** How long a delivery is claimed, in milliseconds. */
	leaseMs?: number;
}

/** What is seen often, and says no more the second time. */
const looks: readonly string[] = ["poll", "activity"];

/**
 * Delivers the turns that are owed to a session, and the messages of its workflows: tell it what happens, and it
 * does what docs/turns.md#delivery says. All of it is synchronous. A state of the core's coordinator is
 * kept here; after a crash it starts anew. What the core cannot be told now, or the session cannot be asked, comes again
 * with the next thing.
 */
export class TurnCoordinator {
	readonly #options: TurnOptions;
	readonly #failed: (error: unknown) => void;
	readonly #messages = new Map<string, SessionMessage>();
	#state: TurnStart | TurnState;
	#turns = 0;
	/** What was seen, the first of it as what came of its last step. */
	readonly #waiting: TurnSeen[] = [];
	/** The step that could not be done. */
	#undone: TurnStep | undefined;
	#following = false;
	/** Turns that were aborted, and one that was before its step came. */
	#aborts = 0;
	#ahead = false;

	constructor(options: TurnOptions) {
		this.#options = options;
		this.#failed = telling(options.failed);
		const { session, leaseMs } = options;
		this.#state = leaseMs === undefined ? { sessionId: session.id } : { sessionId: session.id, leaseMs };
	}

	/** The session was opened. */
	sessionStart(): void {
		this.#see({ kind: "sessionStart" });
	}

	/** A turn has started. */
	turnStarted(): void {
		this.#turns++;
		this.#see({ kind: "activity" });
	}

	/** Something happened in a turn: a message may show by now. */
	activity(): void {
		this.#see({ kind: "activity" });
	}

	/** The turn has ended, and nothing follows it by itself. */
	settled(): void {
		this.#see({ kind: "settled" });
	}

	/** Time has passed: call it every 3 s. */
	poll(): void {
		this.#see({ kind: "poll" });
	}

	/** The session closes. */
	shutdown(): void {
		this.#see({ kind: "shutdown" });
	}

	/** A workflow has a message for the agent. */
	natural(natural: NaturalMessage): void {
		const { runId, messageId, resolution, message } = natural;
		this.#messages.set(messageId, message);
		this.#see({ kind: "natural", runId, messageId, resolution });
	}

	/** What the run has handed in and was not sent shall not go. */
	withdraw(runId: string): void {
		this.#see({ kind: "withdrawn", runId });
	}

	/** Notes what will strand the turn, and aborts it: at once, also where nothing can be noted. */
	abort(note: NoteTurnRequest): void {
		const before = this.#aborts;
		this.#see({ kind: "abort", note });
		if (this.#aborts === before && !this.#following) {
			this.#ahead = true;
			this.#abort();
		}
	}

	/** The outcome of a run was stored, or could not be. */
	ended(runId: string, stored: boolean): void {
		this.#see({ kind: "ended", runId, stored });
	}

	/** What a session tells while it takes a message comes after. */
	#see(what: TurnSeen): void {
		const last = this.#waiting.length > 1 ? this.#waiting.at(-1) : undefined;
		if (!looks.includes(what.kind) || last?.kind !== what.kind) { // one that waits comes as late
			this.#waiting.push(what);
		}
		if (this.#following) {
			return;
		}
		this.#following = true;
		try {
			this.#follow();
		} finally {
			this.#following = false;
		}
	}

	/** Throws where something that was told cannot be read. */
	#follow(): void {
		try {
			while (this.#waiting.length > 0) {
				this.#next(this.#waiting[0]!);
			}
		} catch (error) {
			if (!isUnreadable(error)) {
				this.#failed(error);
				return;
			}
			this.#waiting.shift();
			throw error;
		}
		this.#ahead = false;
		this.#forget();
	}

	#next(seen: TurnSeen): void {
		const step = (this.#undone ??= this.#ask(seen));
		if (step.kind === "wait") {
			this.#waiting.shift();
		} else {
			this.#waiting[0] = { step: step.kind, ...this.#do(step) };
		}
		this.#undone = undefined;
	}

	#ask(what: TurnSeen): TurnStep {
		const { store, session } = this.#options;
		const seen = { ...what, idle: session.idle(), held: session.held(), turn: this.#turns };
		const { state, step } = store.nextTurnStep({ state: this.#state, seen });
		this.#state = state;
		return step;
	}

	/** Forgets the messages that will not be sent any more: no step can name what the state does not. */
	#forget(): void {
		if (this.#messages.size === 0) {
			return;
		}
		const state = JSON.stringify(this.#state);
		for (const messageId of this.#messages.keys()) {
			if (!state.includes(JSON.stringify(messageId))) {
				this.#messages.delete(messageId);
			}
		}
	}

	#do(step: TurnStep): TurnSeen {
		switch (step.kind) {
			case "look":
				return this.#look(step.intentId!);
			case "send":
				return this.#send(step);
			case "abort":
				if (!this.#ahead) {
					this.#abort();
				}
				this.#ahead = false;
				return { kind: "done" };
			case "report":
				quietly(this.#failed, () => this.#options.report?.(step.runId!));
				return { kind: "done" };
			default:
				return dispatch(this.#options.store, step);
		}
	}

	#abort(): void {
		this.#aborts++;
		quietly(this.#failed, () => this.#options.session.abort());
	}

	#look(intentId: string): TurnSeen {
		for (const { customType, details } of this.#options.session.entries()) {
			// What others wrote may be anything: only what can be one of these messages counts.
			const messageId: unknown = details.messageId ?? null;
			const readable = isKey(customType) && (messageId === null || isKey(messageId));
			if (readable && details.turnIntentId === intentId) {
				return { kind: "looked", found: customType, messageId };
			}
		}
		return { kind: "looked" };
	}

	/** Looks once more whether the session is idle, verifies the claim, and sends at once. */
	#send(step: TurnStep): TurnSeen {
		const { store, session } = this.#options;
		if (step.intentId !== undefined && !session.idle()) {
			return { kind: "sendFailed" };
		}
		if (step.op !== undefined) {
			const verified = dispatch(store, step);
			if (verified.kind === "refused") {
				return verified;
			}
		}
		try {
			session.send(this.#message(step));
		} catch (error) {
			this.#failed(error);
			return { kind: "sendFailed" };
		}
		return { kind: "sent" };
	}

	/** A natural message goes as its workflow made it, but for the intent that its details name. */
	#message(step: TurnStep): SessionMessage {
		if (step.messageId === undefined) {
			const { options, details, ...message } = step.message!;
			return { ...message, details: { ...details }, ...(options as Pick<SessionMessage, "deliverAs" | "triggerTurn">) };
		}
		const natural = this.#messages.get(step.messageId)!;
		if (step.intentId === undefined) {
			return natural;
		}
		return { ...natural, details: { ...natural.details, turnIntentId: step.intentId, messageId: step.messageId } };
	}
}

function isKey(value: unknown): value is string {
	return typeof value === "string" && value !== "" && value.length <= 512 && value.isWellFormed();
}
