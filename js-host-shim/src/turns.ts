import { dispatch } from "./dispatch.ts";
import type { NoteTurnRequest, TurnSeen, TurnStart, TurnState, TurnStep } from "./ops.ts";
import type { NaturalMessage, Session, SessionMessage } from "./session.ts";
import type { Store } from "./store.ts";

export interface TurnOptions {
	store: Store;
	session: Session;
	/** Tells the user that the agent of a run may never hear of what happened. */
	report?: (runId: string) => void;
	/** How long a delivery is claimed, in milliseconds. */
	leaseMs?: number;
}

/**
 * Delivers the turns that are owed to a session, and the messages of its workflows: tell it what happens, and it
 * does what docs/turns.md#delivery says. All of it is synchronous. A state of the core's coordinator is
 * kept here; after a crash it starts anew.
 */
export class TurnCoordinator {
	readonly #options: TurnOptions;
	readonly #messages = new Map<string, SessionMessage>();
	#state: TurnStart | TurnState;
	#turns = 0;
	readonly #waiting: TurnSeen[] = [];
	#following = false;

	constructor(options: TurnOptions) {
		this.#options = options;
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

	/** Notes what will strand the turn, and aborts it. */
	abort(note: NoteTurnRequest): void {
		this.#see({ kind: "abort", note });
	}

	/** The outcome of a run was stored, or could not be. */
	ended(runId: string, stored: boolean): void {
		this.#see({ kind: "ended", runId, stored });
	}

	/** What a session tells while it takes a message comes after. */
	#see(what: TurnSeen): void {
		this.#waiting.push(what);
		if (this.#following) {
			return;
		}
		this.#following = true;
		try {
			for (let seen = this.#waiting.shift(); seen !== undefined; seen = this.#waiting.shift()) {
				this.#follow(seen);
			}
		} finally {
			this.#following = false;
		}
	}

	#follow(what: TurnSeen): void {
		const { store, session } = this.#options;
		for (let seen: TurnSeen | undefined = what; seen !== undefined; ) {
			seen = { ...seen, idle: session.idle(), held: session.held(), turn: this.#turns };
			const { state, step } = store.nextTurnStep({ state: this.#state, seen });
			this.#state = state;
			seen = step.kind === "wait" ? undefined : { step: step.kind, ...this.#do(step) };
		}
	}

	#do(step: TurnStep): TurnSeen {
		switch (step.kind) {
			case "look":
				return this.#look(step.intentId!);
			case "send":
				return this.#send(step);
			case "abort":
				this.#options.session.abort();
				return { kind: "done" };
			case "report":
				this.#options.report?.(step.runId!);
				return { kind: "done" };
			default:
				return dispatch(this.#options.store, step);
		}
	}

	#look(intentId: string): TurnSeen {
		for (const { customType, details } of this.#options.session.entries()) {
			if (details.turnIntentId === intentId) {
				return { kind: "looked", found: customType, messageId: details.messageId ?? null };
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
		} catch {
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
