import { WfcoreError } from "./errors.ts";
import type { Answer, ErrorData, Json, OpName } from "./ops.ts";
import type { Store } from "./store.ts";

/** What came of the operation of a step, as a coordinator takes it. */
export type Result = { kind: "answered"; answer: Json | Answer } | { kind: "refused"; error: ErrorData };

/** Does the operation of a step. */
export function dispatch(store: Store, step: { op?: OpName; request?: Json }): Result {
	try {
		const answer = JSON.parse(store.callText(step.op!, JSON.stringify(step.request))) as Json;
		return { kind: "answered", answer };
	} catch (error) {
		if (WfcoreError.is(error)) {
			return { kind: "refused", error: error.toJSON() as ErrorData };
		}
		throw error;
	}
}

/** Tells of errors that nobody waits for. That it throws itself must not stop anything. */
export function telling(failed: ((error: unknown) => void) | undefined): (error: unknown) => void {
	return (error) => {
		try {
			failed?.(error);
		} catch {
			// there is nobody else to tell
		}
	};
}

/** Does what must not stop the rest. */
export function quietly(failed: (error: unknown) => void, tell: () => void): void {
	try {
		tell();
	} catch (error) {
		failed(error);
	}
}

/** The core cannot read what it was told: it will not do so later either. */
export function isUnreadable(error: unknown): error is WfcoreError {
	return WfcoreError.is(error) && error.code === "bad_request";
}
