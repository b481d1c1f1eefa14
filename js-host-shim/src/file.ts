import { chmodSync, closeSync, copyFileSync, fchmodSync, lstatSync, mkdirSync, mkdtempSync, openSync, readlinkSync, realpathSync, rmSync, statSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "node:sqlite";
import { WfcoreError } from "./errors.ts";

// A file is never opened here, but where it is made: closing any descriptor of it drops
// the locks that SQLite holds for this process.

/** What stands at a path, by a look that writes nothing. */
export type Layout = "absent" | "new" | "noIntents" | "current";

export interface FileOptions {
	readOnly: boolean;
	existing: boolean;
	/** Looks at a connection, and throws where it is not of a v1 store. */
	look: (database: DatabaseSync) => { layout: Layout };
}

/** A connection to a file, and a check that the path still names it. */
export interface OpenFile {
	database: DatabaseSync;
	inPlace: () => void;
}

const readonlyRollback = 776;

/** Opens the store of a path, as docs/operations.md#the-file says. */
export function openFile(path: string, options: FileOptions): OpenFile {
	const full = checkPath(path);
	const layout = look(full, options);
	if (layout === "absent" && (options.readOnly || options.existing)) {
		throw new WfcoreError("not_found", `there is no store at ${full}`, { path: full });
	}
	if (options.readOnly) {
		return layout === "new" ? { database: new DatabaseSync(":memory:"), inPlace: () => {} } : openForReading(full);
	}
	unavailable("the store cannot be made private", () => {
		makeDirectory(dirname(full));
		makePrivate(full);
		tighten(full);
	});
	return opened(full, new DatabaseSync(full, { timeout: 0 }), false);
}

function openForReading(full: string): OpenFile {
	const database = new DatabaseSync(full, { readOnly: true, timeout: 0 });
	try {
		database.prepare("SELECT count(*) FROM sqlite_schema").all();
		return opened(full, database, false);
	} catch (error) {
		database.close();
		if (!quiet(full)) {
			throw error;
		}
		// Reading makes a -wal and -shm, which a directory may not allow.
		return opened(full, immutable(full), true);
	}
}

function opened(full: string, database: DatabaseSync, asImmutable: boolean): OpenFile {
	const before = statSync(full);
	return {
		database,
		inPlace() {
			const now = unavailable("the file of the store cannot be reached; try again", () => stats(full));
			if (now === undefined || now.ino !== before.ino || now.dev !== before.dev) {
				throw new WfcoreError("store_unavailable", "the file of the store was moved or removed; open the store again");
			}
			if (asImmutable && !(same(before, now) && quiet(full))) {
				throw new WfcoreError("store_unavailable", "the file of the store has changed; open the store again");
			}
		},
	};
}

/**
 * Opening a WAL database makes an empty -wal beside it, even for reading. Where there is neither
 * a -wal nor a journal nobody has the file open for writing, so it is read as immutable, which touches
 * nothing; if someone came meanwhile, it is looked at again with locks.
 */
function look(full: string, options: FileOptions): Layout {
	const before = stats(full);
	if (before === undefined) {
		return "absent";
	}
	if (quiet(full)) {
		if (before.size === 0) {
			return "new";
		}
		const found = outcome(() => lookAt(immutable(full), options, before.size));
		const after = stats(full);
		if (after !== undefined && quiet(full) && same(before, after)) {
			return found();
		}
	}
	try {
		return lookAt(new DatabaseSync(full, { readOnly: true, timeout: 0 }), options);
	} catch (error) {
		if (error instanceof WfcoreError && error.details.sqlite === readonlyRollback) {
			return lookAtCopy(full, options);
		}
		throw error;
	}
}

/** What stands once the journal of a killed writer is rolled back, which only a writer can do: on a copy. */
function lookAtCopy(full: string, options: FileOptions): Layout {
	const directory = mkdtempSync(join(tmpdir(), "wfcore-look-"));
	try {
		const copy = join(directory, "store");
		for (const suffix of ["", "-journal"]) {
			copyFileSync(full + suffix, copy + suffix);
		}
		return lookAt(new DatabaseSync(copy, { timeout: 0 }), options);
	} finally {
		rmSync(directory, { recursive: true });
	}
}

function lookAt(database: DatabaseSync, options: FileOptions, size?: number): Layout {
	try {
		const { layout } = options.look(database);
		const page = Number(database.prepare("PRAGMA page_size").all()[0]?.page_size);
		if (size !== undefined && size % page !== 0) {
			throw new WfcoreError("layout_incompatible", notSound, { differences: ["the file is not a sound SQLite database"] });
		}
		return layout;
	} finally {
		database.close();
	}
}

const notSound =
	"not a v1 controller store: the file is not a sound SQLite database. Nothing was changed, migrated or deleted. " +
	"Preserve the run bundles that are still needed, then reset the project's controller store.";

function immutable(full: string): DatabaseSync {
	const url = pathToFileURL(full);
	url.search = "?immutable=1";
	return new DatabaseSync(url, { readOnly: true, timeout: 0 });
}

/** Nobody has the file open for writing. */
function quiet(full: string): boolean {
	return [`${full}-wal`, `${full}-journal`].every((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined);
}

/** A path under a file is not absent, but wrong: it throws. */
function stats(path: string): Stats | undefined {
	try {
		return statSync(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") {
			return undefined;
		}
		throw error;
	}
}

function same(a: Stats, b: Stats): boolean {
	return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeMs === b.mtimeMs;
}

/** Runs now, and answers or throws when asked. */
function outcome<T>(run: () => T): () => T {
	try {
		const value = run();
		return () => value;
	} catch (error) {
		return () => {
			throw error;
		};
	}
}

function checkPath(path: string): string {
	if (typeof path !== "string" || path === "" || path.includes("\0")) {
		throw badPath("the path of the store must be a non-empty file name");
	}
	if (stats(path)?.isFile() === false) {
		throw badPath(`the path of the store is a directory or device: ${path}`);
	}
	return target(resolve(path));
}

/** Where a path leads: SQLite follows a link, also to what is absent, and keeps -wal and -journal beside the target. */
function target(full: string): string {
	if (stats(full) !== undefined) {
		return realpathSync(full);
	}
	const link = lstatSync(full, { throwIfNoEntry: false })?.isSymbolicLink();
	return link ? target(resolve(dirname(full), readlinkSync(full))) : full;
}

function badPath(message: string): WfcoreError {
	return new WfcoreError("bad_request", message, { field: "path" });
}

/** Makes what is missing, of mode 0700 under any umask. */
function makeDirectory(path: string): void {
	if (stats(path) !== undefined) {
		return;
	}
	makeDirectory(dirname(path));
	if (ignoring("EEXIST", () => mkdirSync(path, 0o700))) {
		chmodSync(path, 0o700);
	}
}

/** Makes the file, so that others can at no time open it. SQLite gives its mode to -wal and -shm. */
function makePrivate(full: string): void {
	ignoring("EEXIST", () => {
		const descriptor = openSync(full, "wx", 0o600);
		fchmodSync(descriptor, 0o600);
		closeSync(descriptor);
	});
}

/** Takes the store from others, where a file that was there let them in. A link is not followed. */
function tighten(full: string): void {
	for (const path of [full, `${full}-wal`, `${full}-shm`]) {
		const found = lstatSync(path, { throwIfNoEntry: false });
		if (found?.isFile() && (found.mode & 0o077) !== 0) {
			ignoring("ENOENT", () => chmodSync(path, 0o600));
		}
	}
}

function ignoring(code: string, run: () => void): boolean {
	try {
		run();
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === code) {
			return false;
		}
		throw error;
	}
}

function unavailable<T>(message: string, run: () => T): T {
	try {
		return run();
	} catch (cause) {
		throw new WfcoreError("store_unavailable", message, {}, { cause });
	}
}
