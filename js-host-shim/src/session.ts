import type { Resolution } from "./ops.ts";

/** One entry of a session that shows a message of a workflow, on whichever path of the session. */
export interface SessionEntry {
	customType: string;
	/** `turnIntentId` names the intent that the message delivers, `messageId` the host's own name of it. */
	details: { turnIntentId?: string; messageId?: string };
}

/** A message to a session, as a host sends it. */
export interface SessionMessage {
	customType: string;
	content: string;
	/** Whether the user sees it; true by default. */
	display?: boolean;
	/** They have to come back from `entries` as they are: by them a delivery is known. */
	details?: Record<string, unknown>;
	/** How it goes: `followUp` after what is going on. */
	deliverAs?: "followUp" | "nextTurn" | "steer";
	/** It starts a turn where none is active. */
	triggerTurn?: boolean;
}

/** A session of an agent host. Everything is synchronous, so that nothing comes between a look and a send. */
export interface Session {
	readonly id: string;
	/** No turn is active and no message is pending, looked at now. */
	idle(): boolean;
	/** The user holds the workflow. */
	held(): boolean;
	/** All entries of the session with a custom type, not only those of its current path. */
	entries(): Iterable<SessionEntry>;
	/** Hands a message to the session. That it returns means nothing: delivery is confirmed by `entries`. */
	send(message: SessionMessage): void;
	/** Aborts the turn that is active, if there is one. */
	abort(): void;
}

/** A message that a workflow itself has for the agent. */
export interface NaturalMessage {
	runId: string;
	/** The host's name of it, unique in the session, which its details will carry. */
	messageId: string;
	resolution: Exclude<Resolution, "fallback">;
	message: SessionMessage;
}
