import type { Connection, SqlValue, Statement } from "./connection.ts";

// The values of docs/abi.md#values.
const tagNull = 0;
const tagInteger = 1;
const tagReal = 2;
const tagText = 3;
const tagBlob = 4;

const busy = 5;
const busySnapshot = 517;
const genericError = 1;

/** How long a statement may wait for a lock, in milliseconds, by what the core says. */
export type Waits = readonly [none: 0, normal: number, beforeAbort: number];

interface Prepared {
	sql: string;
	statement: Statement;
}

/** Serves the core's SQL on a connection. */
export class SqlServer {
	readonly #connection: Connection;
	readonly #waits: Waits;
	readonly #lent: boolean;
	readonly #ids = new Map<string, number>();
	readonly #statements: Prepared[] = [];
	readonly #reply = new Writer();
	/** The core has begun a transaction and not ended it. */
	#begun = false;

	constructor(connection: Connection, waits: Waits, lent: boolean) {
		this.#connection = connection;
		this.#waits = waits;
		this.#lent = lent;
	}

	/** The module `wfcore_sql`. */
	imports(memory: () => ArrayBuffer): Record<string, (...args: number[]) => number | void> {
		return {
			prepare: (at = 0, length = 0) => this.#answer(() => this.#prepare(text(new Uint8Array(memory(), at, length)))),
			run: (id = 0, at = 0, length = 0, wait = 0) =>
				this.#answer(() => this.#run(id, arguments_(new Uint8Array(memory(), at, length)), this.#waits[wait] ?? 0)),
			result: (at = 0) => new Uint8Array(memory()).set(this.#reply.bytes(), at),
		};
	}

	/** Rolls back what a call of the core began and left open: it was lost, or its own ROLLBACK failed. */
	rollback(): void {
		if (!this.#begun) {
			return;
		}
		this.#begun = false;
		if (this.#connection.isOpen() && this.#connection.inTransaction()) {
			this.#answer(() => this.#connection.prepare("ROLLBACK").all([])); // the error is the one that led here
		}
	}

	#answer(serve: () => void): number {
		try {
			serve();
		} catch (error) {
			this.#reply.reset(this.#connection.resultCode(error) || genericError);
			this.#reply.raw(encoder.encode(error instanceof Error ? error.message : String(error)));
		}
		return this.#reply.length;
	}

	#prepare(sql: string): void {
		let id = this.#ids.get(sql);
		if (id === undefined) {
			// What reads the schema can meet a lock as well.
			const statement = waiting(this.#waits[1], this.#connection, () => this.#connection.prepare(sql));
			id = this.#statements.push({ sql, statement }) - 1;
			this.#ids.set(sql, id);
		}
		this.#reply.reset(0);
		this.#reply.number(id);
	}

	#run(id: number, args: SqlValue[], wait: number): void {
		const prepared = this.#statements[id];
		if (prepared === undefined) {
			throw new Error(`there is no statement ${id}`);
		}
		const rows = waiting(wait, this.#connection, () => this.#withoutTimeout(prepared.sql, () => this.#all(prepared, args)));
		this.#reply.reset(0);
		this.#reply.number(rows[0]?.length ?? 0);
		this.#reply.number(rows.length);
		for (const row of rows) {
			for (const value of row) {
				this.#reply.value(value);
			}
		}
	}

	#all({ sql, statement }: Prepared, args: SqlValue[]): readonly (readonly SqlValue[])[] {
		const rows = statement.all(args);
		if (sql === "BEGIN" || sql === "BEGIN IMMEDIATE") {
			this.#begun = true;
		} else if (sql === "COMMIT" || sql === "ROLLBACK") {
			this.#begun = false;
		}
		return rows;
	}

	/** Takes the host's own busy timeout, which starves, off for our BEGIN. */
	#withoutTimeout<T>(sql: string, run: () => T): T {
		if (!this.#lent || sql !== "BEGIN IMMEDIATE") {
			return run();
		}
		const timeout = this.#connection.prepare("PRAGMA busy_timeout").all([])[0]?.[0] ?? 0n;
		if (timeout === 0n) {
			return run();
		}
		this.#connection.prepare("PRAGMA busy_timeout = 0").all([]);
		try {
			return run();
		} finally {
			this.#connection.prepare(`PRAGMA busy_timeout = ${timeout}`).all([]);
		}
	}
}

/** Tries again after 0.2 to 1 ms where it meets a lock, until the time is over. */
function waiting<T>(milliseconds: number, connection: Connection, run: () => T): T {
	const deadline = performance.now() + milliseconds;
	for (;;) {
		try {
			return run();
		} catch (error) {
			const code = connection.resultCode(error);
			if ((code & 0xff) !== busy || code === busySnapshot || !(performance.now() < deadline)) {
				throw error;
			}
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.2 + 0.8 * Math.random());
		}
	}
}

const encoder = new TextEncoder();
// A byte order mark is text like any other.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const text = (bytes: Uint8Array) => decoder.decode(bytes);

function arguments_(bytes: Uint8Array): SqlValue[] {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let at = 4;
	const content = () => {
		const from = at + 4;
		at = from + view.getUint32(at, true);
		return bytes.subarray(from, at);
	};
	const value = (): SqlValue => {
		switch (view.getUint8(at++)) {
			case tagInteger:
				at += 8;
				return view.getBigInt64(at - 8, true);
			case tagReal:
				at += 8;
				return view.getFloat64(at - 8, true);
			case tagText:
				return text(content());
			case tagBlob:
				return content().slice();
			default:
				return null;
		}
	};
	return Array.from({ length: view.getUint32(0, true) }, value);
}

const smallReply = 4096;
const keptReply = 1 << 20;

/** Writes a reply into bytes that grow and are used again, unless they grew too much to be kept. */
class Writer {
	length = 0;
	#bytes = new Uint8Array(smallReply);
	#view = new DataView(this.#bytes.buffer);

	bytes(): Uint8Array {
		return this.#bytes.subarray(0, this.length);
	}

	reset(code: number): void {
		this.length = 0;
		if (this.#bytes.length > keptReply) {
			this.#use(new Uint8Array(smallReply));
		}
		this.number(code);
	}

	number(value: number): void {
		this.#room(4);
		this.#view.setUint32(this.length, value, true);
		this.length += 4;
	}

	raw(bytes: Uint8Array): void {
		this.#room(bytes.length);
		this.#bytes.set(bytes, this.length);
		this.length += bytes.length;
	}

	value(value: SqlValue): void {
		if (value === null) {
			this.#tag(tagNull);
		} else if (typeof value === "bigint") {
			this.#tag(tagInteger);
			this.#room(8);
			this.#view.setBigInt64(this.length, value, true);
			this.length += 8;
		} else if (typeof value === "number") {
			this.#tag(tagReal);
			this.#room(8);
			this.#view.setFloat64(this.length, value, true);
			this.length += 8;
		} else {
			const bytes = typeof value === "string" ? encoder.encode(value) : value;
			this.#tag(typeof value === "string" ? tagText : tagBlob);
			this.number(bytes.length);
			this.raw(bytes);
		}
	}

	#tag(tag: number): void {
		this.#room(1);
		this.#bytes[this.length++] = tag;
	}

	#room(size: number): void {
		if (this.length + size <= this.#bytes.length) {
			return;
		}
		const grown = new Uint8Array(2 * (this.length + size));
		grown.set(this.bytes());
		this.#use(grown);
	}

	#use(bytes: Uint8Array<ArrayBuffer>): void {
		this.#bytes = bytes;
		this.#view = new DataView(bytes.buffer);
	}
}
