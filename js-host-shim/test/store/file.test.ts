// The file of a store: its modes, its path, and that it stays where it is.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { test } from "node:test";
import { openStore } from "wfcore-host-shim";
import { beside, cycle, fixture, open, place, refused, reservation, temp } from "./temp.ts";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

// The umask is the whole process's, so a child sets it. It says the modes while the store is open.
const underUmask = `
	import { statSync } from "node:fs";
	import { openStore } from "wfcore-host-shim";
	const [mask, path, directory] = process.argv.slice(1);
	process.umask(parseInt(mask, 8));
	const store = openStore({ path });
	store.newRunId({ workflowName: "w" });
	store.reservePreparedRun({ runId: "r", workflowName: "w", workflowSourceRef: "b:w", workflowSource: {}, definitionDigest: "d" });
	console.log([directory, path, path + "-wal", path + "-shm"].map((p) => (statSync(p).mode & 0o777).toString(8)).join(" "));
	store.close();
`;

function modes(mask: string, path: string): string {
	const options = { cwd: join(import.meta.dirname, "../.."), encoding: "utf8" } as const;
	const child = spawnSync(process.execPath, ["--input-type=module", "-e", underUmask, mask, path, dirname(path)], options);
	assert.equal(child.status, 0, child.stderr);
	return child.stdout.trim();
}

for (const mask of ["000", "077", "277"]) {
	test(`under umask ${mask} what it makes is private`, (t) => {
		const directory = temp(t);
		assert.equal(modes(mask, join(directory, "a", "b", "store")), "700 600 600 600");
		assert.equal(mode(join(directory, "a")), "700");
	});
	test(`under umask ${mask} a directory that was there keeps its mode, a wider file does not`, (t) => {
		const path = place(t, fixture("v1-populated"));
		chmodSync(dirname(path), 0o755);
		chmodSync(path, 0o666);
		assert.equal(modes(mask, path), "755 600 600 600");
		assert.deepEqual(readdirSync(dirname(path)), ["runs", "store"]);
	});
}

test("a wider -wal and -shm of another host are tightened", (t) => {
	const path = place(t, fixture("v1-populated"));
	beside(t, path).exec("PRAGMA journal_mode = WAL; UPDATE run_events SET run_id = run_id");
	for (const suffix of ["", "-wal", "-shm"]) {
		chmodSync(path + suffix, 0o644);
	}
	open(t, { path, readOnly: true }).listRuns({ limit: 1 });
	assert.deepEqual(["", "-wal", "-shm"].map((suffix) => mode(path + suffix)), ["644", "644", "644"], "by reading");
	open(t, { path });
	assert.deepEqual(["", "-wal", "-shm"].map((suffix) => mode(path + suffix)), ["600", "600", "600"]);
});

function works(path: string, full = path): void {
	const store = openStore({ path });
	cycle(store, "run");
	store.close();
	assert.ok(existsSync(full), "it is not at its path");
	assert.deepEqual(readdirSync(dirname(full)), [basename(full)]);
	for (const options of [{ existing: true }, { readOnly: true }]) {
		using again = openStore({ path, ...options });
		assert.equal(again.getRun({ runId: "run" })?.status, "done");
	}
}

for (const name of [
	"a#b", "?", "a?mode=memory", "%", "%41", "100%", "two words", " ", "größe-日本語-🜁", "line\nbreak", "back\\slash",
	":memory:", "file:x", "file::memory:?cache=shared", "a&vfs=os", "x-wal", "x-shm", "x-journal",
]) {
	test(`nothing in a path means anything: ${JSON.stringify(name)}`, (t) => {
		works(join(temp(t), name));
		works(join(temp(t), name, "store"));
	});
}

test("a relative path stays where it was when the process goes elsewhere", (t) => {
	const directory = temp(t);
	const from = process.cwd();
	t.after(() => process.chdir(from));
	works(relative(from, join(directory, "a", ".", "store")), join(directory, "a", "store"));
	process.chdir(directory);
	for (const name of [":memory:", "file:x"]) {
		mkdirSync(name + ".d");
		process.chdir(name + ".d");
		works(name, join(directory, name + ".d", name));
		process.chdir(directory);
	}
	const store = open(t, { path: "a/store" });
	process.chdir("/");
	cycle(store, "later");
});

test("links are followed", (t) => {
	const directory = temp(t);
	mkdirSync(join(directory, "real"));
	symlinkSync("real", join(directory, "link"));
	works(join(directory, "link", "store"), join(directory, "real", "store"));
	symlinkSync("real/store", join(directory, "to-store"));
	using store = openStore({ path: join(directory, "to-store") });
	assert.equal(store.getRun({ runId: "run" })?.status, "done");
	assert.deepEqual(readdirSync(directory), ["link", "real", "to-store"]);
});

test("what is made at the end of a link to nothing is private", (t) => {
	const directory = temp(t);
	symlinkSync("there/store", join(directory, "link"));
	const made = join(directory, "there", "store");
	refused("not_found", () => openStore({ path: join(directory, "link"), readOnly: true }));
	cycle(open(t, { path: join(directory, "link") }), "run");
	assert.deepEqual([dirname(made), made, `${made}-wal`, `${made}-shm`].map(mode), ["700", "600", "600", "600"]);
	symlinkSync("round", join(directory, "round"));
	refused("store_unavailable", () => openStore({ path: join(directory, "round") }));
});

test("a file that cannot be reached is unavailable", (t) => {
	const directory = temp(t);
	const store = open(t, { path: join(directory, "a", "store") });
	renameSync(join(directory, "a"), join(directory, "b"));
	symlinkSync("a", join(directory, "a"));
	refused("store_unavailable", () => store.listRuns({ limit: 1 }));
});

for (const [name, move] of Object.entries({
	removed: (path: string) => rmSync(path),
	renamed: (path: string) => renameSync(path, `${path}.old`),
	replaced: (path: string) => {
		writeFileSync(`${path}.new`, "");
		renameSync(`${path}.new`, path);
	},
})) {
	test(`a file that was ${name} is not written to any more`, (t) => {
		const path = join(temp(t), "store");
		const store = open(t, { path });
		cycle(store, "before");
		move(path);
		for (const op of [() => store.reservePreparedRun(reservation("after")), () => store.getRun({ runId: "before" })]) {
			assert.equal(refused("store_unavailable", op).retryable, true);
		}
	});
}

test("a file that came back goes on", (t) => {
	const path = join(temp(t), "store");
	const store = open(t, { path });
	renameSync(path, `${path}.old`);
	refused("store_unavailable", () => cycle(store, "run"));
	renameSync(`${path}.old`, path);
	cycle(store, "run");
});

test("an absent file is not found where none may be made, and nothing is made", (t) => {
	const directory = temp(t);
	for (const path of [join(directory, "store"), join(directory, "new", "store")]) {
		for (const options of [{ readOnly: true }, { existing: true }]) {
			assert.deepEqual(refused("not_found", () => openStore({ path, ...options })).details, { path });
		}
	}
	assert.deepEqual(readdirSync(directory), []);
});

test("what is no file is refused", (t) => {
	const directory = temp(t);
	writeFileSync(join(directory, "file"), "text");
	for (const readOnly of [false, true]) {
		for (const path of ["", "a\0b", directory, `${directory}/`, "/dev/null"]) {
			assert.deepEqual(refused("bad_request", () => openStore({ path, readOnly }), path).details, { field: "path" });
		}
		for (const under of ["file/store", "file/a/store"]) {
			refused("store_unavailable", () => openStore({ path: join(directory, under), readOnly }), under);
		}
	}
	refused("bad_request", () => openStore({}));
	refused("bad_request", () => openStore({ path: new URL("file:///store") as never }));
	refused("bad_request", () => openStore({ path: join(directory, "store"), database: beside(t, ":memory:") }));
	assert.deepEqual(readdirSync(directory), ["file"]);
});
