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
		if (error instanceof WfcoreError) {
			return { kind: "refused", error: error.toJSON() as ErrorData };
		}
		throw error;
	}
}
