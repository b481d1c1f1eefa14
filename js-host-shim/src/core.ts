import { readFileSync } from "node:fs";
import { WfcoreError } from "./errors.ts";
import type { Code } from "./ops.ts";
import { preview1 } from "./wasi.ts";

/** The version of docs/abi.md that this package was made for. */
const abiVersion = 1;

/** What an instance needs of its host. */
export interface CoreHost {
	now: () => number;
	random: (into: Uint8Array) => void;
	stderr: (text: string) => void;
	/** The module `wfcore_sql`. */
	sql: (memory: () => ArrayBuffer) => Record<string, (...args: number[]) => number | void>;
}

interface Exports {
	memory: WebAssembly.Memory;
	_initialize(): void;
	wfcore_abi_version(): number;
	wfcore_allocate(size: number): number;
	wfcore_call(name: number, request: number): bigint;
}

let compiled: WebAssembly.Module | undefined;

function module(): WebAssembly.Module {
	try {
		compiled ??= new WebAssembly.Module(readFileSync(new URL("./wfcore.wasm", import.meta.url)));
		return compiled;
	} catch (error) {
		throw mismatch("the file of the core cannot be read", error);
	}
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** One instance of the core. After it threw anything but a WfcoreError it must not be used again. */
export class Core {
	readonly #exports: Exports;

	constructor(host: CoreHost, code: WebAssembly.Module = module()) {
		let memory: WebAssembly.Memory | undefined;
		const bytes = () => memory!.buffer as ArrayBuffer; // growing it detaches the old one
		const imports = { wasi_snapshot_preview1: preview1({ ...host, memory: bytes }), wfcore_sql: host.sql(bytes) };
		let instance: WebAssembly.Instance;
		try {
			instance = new WebAssembly.Instance(code, imports as WebAssembly.Imports);
		} catch (error) {
			if (error instanceof WebAssembly.LinkError || error instanceof TypeError) {
				throw mismatch("the core imports what this package does not have", error);
			}
			throw error; // no room for it, perhaps
		}
		this.#exports = instance.exports as unknown as Exports;
		if (typeof this.#exports.wfcore_abi_version !== "function") {
			throw mismatch("the file is not the core");
		}
		memory = this.#exports.memory;
		this.#exports._initialize();
		const version = this.#exports.wfcore_abi_version();
		if (version !== abiVersion) {
			throw mismatch(`the core has ABI version ${version}, and this package was made for ${abiVersion}`);
		}
	}

	/** Runs an operation on a request that is JSON text, and returns its answer's JSON text. */
	call(op: string, request: string): string {
		if (loneSurrogate.test(request)) {
			throw new WfcoreError("bad_request", "the request is not well-formed text", { field: "request" });
		}
		const name = encoder.encode(op);
		const params = encoder.encode(request);
		const at = this.#exports.wfcore_allocate(name.length + params.length);
		if (at === 0) {
			throw new WfcoreError("bad_request", "the request is too large", { field: "request" });
		}
		const memory = new Uint8Array(this.#exports.memory.buffer);
		memory.set(name, at);
		memory.set(params, at + name.length);
		const packed = BigInt.asUintN(64, this.#exports.wfcore_call(name.length, params.length));
		const bytes = new Uint8Array(this.#exports.memory.buffer, Number(packed >> 32n), Number(packed & 0xffff_ffffn));
		const reply = decoder.decode(bytes);
		if (reply.startsWith(answerIs)) {
			return reply.slice(answerIs.length, -1);
		}
		const { error } = JSON.parse(reply) as { error: { code: Code; message: string; details?: Record<string, unknown> } };
		throw new WfcoreError(error.code, error.message, error.details);
	}
}

// UTF-8 has none: an encoder would replace it in silence.
const loneSurrogate = /\p{Surrogate}/u;
const answerIs = '{"answer":';

function mismatch(message: string, cause?: unknown): WfcoreError {
	return new WfcoreError("abi_mismatch", message, {}, { cause });
}
