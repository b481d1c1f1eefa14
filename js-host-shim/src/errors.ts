import { codes, type Code } from "./ops.ts";

/** What went wrong, as every face of the core says it. Match by `code`, never by text. */
export class WfcoreError extends Error {
	override readonly name = "WfcoreError";
	readonly code: Code;
	/** The same call may succeed later. */
	readonly retryable: boolean;
	readonly details: Record<string, unknown>;

	constructor(code: Code, message: string, details: Record<string, unknown> = {}, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
		this.retryable = codes[code]?.retryable ?? false;
		this.details = details;
	}

	/** Also of another copy of this package, which `instanceof` does not know. */
	static is(error: unknown): error is WfcoreError {
		return error instanceof Error && error.name === "WfcoreError" && "code" in error;
	}

	/** The error as the coordinators take it. */
	toJSON(): { code: Code; message: string; retryable: boolean; details: Record<string, unknown> } {
		return { code: this.code, message: this.message, retryable: this.retryable, details: this.details };
	}
}
