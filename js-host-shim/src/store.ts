import { DatabaseSync } from "node:sqlite";
import type { Connection } from "./connection.ts";
import { Core, type CoreHost } from "./core.ts";
import { WfcoreError } from "./errors.ts";
import { openFile, type Layout } from "./file.ts";
import { nodeSqlite } from "./node-sqlite.ts";
import { opNames, type OpName, type Ops } from "./ops.ts";
import { SqlServer } from "./sql.ts";

export interface StoreOptions {
	/** The file of the store, made where it is absent. One of `path` and `database`. */
	path?: string;
	/** A connection that the host owns: its pragmas are checked and left alone, and it is not closed. */
	database?: DatabaseSync | Connection;
	/** Opens for reading; an absent file is `not_found`. */
	readOnly?: boolean;
	/** Makes no file: an absent one is `not_found`. */
	existing?: boolean;
	/** How long an operation waits for another process's lock, in milliseconds: 1,000. */
	wait?: number;
	/** How long it waits where an abort must not be held back, in milliseconds: 250. */
	waitBeforeAbort?: number;
	/** The clock, in milliseconds since 1970. */
	now?: () => number;
	/** Fills bytes at random: the source of tokens and run ids. */
	random?: (into: Uint8Array) => void;
	/** What the core says when it fails; on the console by default. */
	stderr?: (text: string) => void;
	/** Permits `now` in requests, for tests. */
	testClock?: boolean;
}

/** Advice, known by its code: `secure_delete`, `wal_reset`. */
export interface Warning {
	code: string;
	message: string;
}

const known: readonly string[] = [
	"path", "database", "readOnly", "existing", "wait", "waitBeforeAbort", "now", "random", "stderr", "testClock",
] satisfies (keyof StoreOptions)[];

/** An open store: every operation of docs/reference.md, synchronous. */
export interface Store extends Ops, Disposable {
	/** What the connection lacks of what is advised. */
	readonly warnings: readonly Warning[];
	readonly sqliteVersion: string;
	/** Runs an operation on JSON text, and returns its answer's JSON text. */
	callText(op: string, request: string): string;
	/** Gives the file back. Every later operation answers `store_closed`. */
	close(): void;
}

/**
 * Opens a store. It throws a WfcoreError: `bad_request`, `not_found`, `store_unavailable`,
 * `layout_incompatible` (nothing was changed), `store_misconfigured`, `transaction_open`, `abi_mismatch`.
 */
export function openStore(options: StoreOptions): Store {
	const { path, database } = options ?? {};
	const unknown = Object.keys(options ?? {}).find((name) => !known.includes(name));
	if (unknown !== undefined) {
		throw new WfcoreError("bad_request", `${unknown} is no option`, { field: unknown });
	}
	if ((path === undefined) === (database === undefined)) {
		throw new WfcoreError("bad_request", "give either the path of a file or a database", { field: "path" });
	}
	if (database !== undefined) {
		const connection = database instanceof DatabaseSync ? nodeSqlite(database) : checked(database);
		return new OpenStore(connection, "lent", options, () => {});
	}
	const { database: own, inPlace } = storageErrors(path!, () =>
		openFile(path!, {
			readOnly: options.readOnly ?? false,
			existing: options.existing ?? false,
			look: (found) => look(nodeSqlite(found), options),
		}),
	);
	const connection = nodeSqlite(own);
	try {
		return new OpenStore(connection, "own", options, inPlace);
	} catch (error) {
		connection.close();
		throw error;
	}
}

function look(connection: Connection, options: StoreOptions): Opened {
	try {
		return new Session(connection, "look", options).open();
	} catch (error) {
		throw typed(error);
	}
}

/** Refuses an adapter that would be wrong in ways that are hard to see. */
function checked(connection: Connection): Connection {
	if (typeof connection !== "object" || connection === null) {
		throw unfit("it is no object");
	}
	for (const method of ["prepare", "resultCode", "isOpen", "inTransaction", "close"] as const) {
		if (typeof connection[method] !== "function") {
			throw unfit(`it has no method ${method}`);
		}
	}
	if (!connection.isOpen()) {
		return connection; // which is told as such
	}
	const rows = connection.prepare("SELECT 1, ?1, ?2").all(["x", null]);
	const row = rows?.[0];
	if (!Array.isArray(row) || row[0] !== 1n || row[1] !== "x" || row[2] !== null) {
		throw unfit("all must return arrays at once, with each INTEGER as a bigint, and take its arguments in order");
	}
	return connection;
}

function unfit(why: string): WfcoreError {
	const message = `the database is neither a DatabaseSync of node:sqlite nor a Connection: ${why}`;
	return new WfcoreError("bad_request", message, { field: "database" });
}

type Whose = "own" | "lent" | "look";

interface Opened {
	layout: Layout;
	sqliteVersion: string;
	warnings: Warning[];
}

/** An instance of the core on a connection. */
class Session {
	readonly core: Core;
	readonly sql: SqlServer;
	readonly #request: string;

	constructor(connection: Connection, whose: Whose, options: StoreOptions) {
		this.sql = new SqlServer(connection, [0, options.wait ?? 1000, options.waitBeforeAbort ?? 250], whose === "lent");
		const host: CoreHost = {
			now: options.now ?? Date.now,
			random: options.random ?? randomBytes,
			stderr: options.stderr ?? ((text) => console.error(text.trimEnd())),
			sql: (memory) => this.sql.imports(memory),
		};
		this.core = new Core(host);
		const { readOnly = false, testClock = false } = options;
		this.#request = JSON.stringify({ connection: whose, readOnly, testClock });
	}

	open(): Opened {
		return JSON.parse(this.core.call("open", this.#request)) as Opened;
	}
}

class OpenStore {
	readonly warnings: readonly Warning[];
	readonly sqliteVersion: string;
	readonly #connection: Connection;
	readonly #whose: Whose;
	readonly #options: StoreOptions;
	readonly #inPlace: () => void;
	#session: Session | undefined;
	#closed = false;
	#busy = false;

	constructor(connection: Connection, whose: Whose, options: StoreOptions, inPlace: () => void) {
		this.#connection = connection;
		this.#whose = whose;
		this.#options = options;
		this.#inPlace = inPlace;
		const { warnings, sqliteVersion } = this.#guarded(() => this.#start());
		this.warnings = warnings;
		this.sqliteVersion = sqliteVersion;
	}

	callText(op: string, request: string): string {
		if (op === "open") {
			throw new WfcoreError("bad_request", `"open" is not an operation`, { field: "op" });
		}
		const pure = this.#session !== undefined && readNothing.includes(op);
		return this.#guarded(() => {
			if (this.#session === undefined) {
				this.#start();
			}
			return this.#session!.core.call(op, request);
		}, pure);
	}

	close(): void {
		if (this.#closed) {
			return;
		}
		this.#closed = true;
		this.#session = undefined;
		if (this.#whose === "own" && this.#connection.isOpen()) {
			this.#connection.close();
		}
	}

	[Symbol.dispose](): void {
		this.close();
	}

	/** Makes a fresh instance. One that could not open the store is not kept: the next call tries again. */
	#start(): Opened {
		const session = new Session(this.#connection, this.#whose, this.#options);
		try {
			const opened = session.open();
			this.#session = session;
			return opened;
		} finally {
			session.sql.rollback();
		}
	}

	#usable(): void {
		if (!this.#connection.isOpen()) {
			throw new WfcoreError("store_closed", "the connection was closed");
		}
		this.#inPlace();
		if (this.#connection.inTransaction()) {
			throw new WfcoreError("transaction_open", "the connection has an open transaction; end it, and try again");
		}
	}

	/** Runs the core, and drops an instance that was lost: the next call makes a fresh one. */
	#guarded<T>(run: () => T, pure = false): T {
		if (this.#busy) {
			throw new WfcoreError("store_unavailable", "the store is in use by another operation; try again");
		}
		if (this.#closed) {
			throw new WfcoreError("store_closed", "the store was closed");
		}
		if (!pure) {
			this.#usable();
		}
		this.#busy = true;
		let lost = false;
		try {
			return run();
		} catch (cause) {
			const error = typed(cause);
			lost = error.code === "core_crashed";
			throw error;
		} finally {
			this.#session?.sql.rollback();
			if (lost) {
				this.#session = undefined;
			}
			this.#busy = false;
		}
	}
}

/** A coordinator has to be asked also where the store cannot be: it stops an engine at the end of its lease. */
const readNothing: readonly string[] = ["nextLaunchStep", "nextTurnStep"] satisfies OpName[];

for (const op of opNames) {
	Object.defineProperty(OpenStore.prototype, op, {
		value(this: OpenStore, request: unknown = {}): unknown {
			return JSON.parse(this.callText(op, stringify(request)));
		},
	});
}

function stringify(request: unknown): string {
	try {
		return JSON.stringify(request) ?? "null";
	} catch (cause) {
		throw new WfcoreError("bad_request", "the request cannot be told as JSON", { field: "request" }, { cause });
	}
}

// The operations are those of the table above, which the types cannot see.
interface OpenStore extends Ops {}

function randomBytes(into: Uint8Array): void {
	for (let from = 0; from < into.length; from += 65536) {
		crypto.getRandomValues(into.subarray(from, from + 65536) as Uint8Array<ArrayBuffer>);
	}
}

/** What is thrown through the core, and is not its own error, has lost the instance. */
function typed(cause: unknown): WfcoreError {
	return cause instanceof WfcoreError ? cause : new WfcoreError("core_crashed", "the core failed; a fresh one goes on", {}, { cause });
}

/** Says which file it was, and types what `node:sqlite` and the file system throw while a file is opened. */
function storageErrors<T>(path: string, run: () => T): T {
	try {
		return run();
	} catch (cause) {
		if (cause instanceof WfcoreError && cause.code === "layout_incompatible") {
			throw new WfcoreError(cause.code, `${path}: ${cause.message}`, { ...cause.details, path });
		}
		if (cause instanceof WfcoreError) {
			throw cause;
		}
		throw new WfcoreError("store_unavailable", "the store could not be opened; try again", {}, { cause });
	}
}
