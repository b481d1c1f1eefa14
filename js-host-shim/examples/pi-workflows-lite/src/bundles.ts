import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FailureCode, Json } from "wfcore-host-shim";

/** What is kept of a run, so that another process can go on from it. */
export interface Bundle {
	schema: "workflows-lite.run.v1";
	runId: string;
	workflow: string;
	digest: string;
	input: Json;
	state: "running" | "done" | "failed" | "cancelled";
	finished: { step: string; result: Json }[];
	/** The step that was begun last, and how often. */
	active: { step: string; attempt: number } | null;
	error: { code: FailureCode; message: string } | null;
}

/** A folder of bundles: RUNID.json each, for the user alone. */
export class Bundles {
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	/** Undefined is none; it throws where there is one that cannot be read. */
	read(runId: string): Bundle | undefined {
		let text: string;
		try {
			text = readFileSync(this.#path(runId), "utf8");
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") {
				return undefined;
			}
			throw error;
		}
		const bundle = JSON.parse(text) as Bundle;
		if (bundle.schema !== "workflows-lite.run.v1" || bundle.runId !== runId) {
			throw new Error(`the bundle of run ${runId} is not one`);
		}
		return bundle;
	}

	/** Whoever reads meanwhile, or after a crash, sees the old one or the new one. */
	write(bundle: Bundle): void {
		mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
		const path = this.#path(bundle.runId);
		const beside = `${path}.new`;
		const descriptor = openSync(beside, "w", 0o600);
		try {
			writeFileSync(descriptor, `${JSON.stringify(bundle, undefined, "\t")}\n`);
			fsyncSync(descriptor);
		} finally {
			closeSync(descriptor);
		}
		renameSync(beside, path);
	}

	#path(runId: string): string {
		if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(runId)) {
			throw new Error("this is not the id of a run");
		}
		return join(this.#folder, `${runId}.json`);
	}
}
