// The package as npm publishes it: what is in it, and a project that installs it and has nothing else.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const root = join(import.meta.dirname, "..");
const modules = join(root, "node_modules");
const read = (...path: string[]) => readFileSync(join(...path), "utf8");

interface Packed {
	filename: string;
	files: { path: string; size: number; mode: number }[];
}

let directory: string; // an empty project
let installed: string;
let packed: Packed;

before(() => {
	directory = mkdtempSync(join(tmpdir(), "tarball-"));
	installed = join(directory, "node_modules/wfcore-host-shim");
	packed = JSON.parse(npm(root, "pack", "--json", "--pack-destination", directory))[0] as Packed;
	writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "a-host", version: "1.0.0", private: true, type: "module" }));
	npm(directory, "install", "--no-audit", "--no-fund", `./${packed.filename}`);
});

after(() => rmSync(directory, { recursive: true, force: true }));

/** With no network, no cache and no settings but its own. */
function npm(cwd: string, ...args: string[]): string {
	const own = ["--offline", "--cache", join(directory, "cache"), "--userconfig", join(directory, "npmrc"), "--no-update-notifier", "--loglevel", "error"];
	return execFileSync("npm", [...args, ...own], { cwd, encoding: "utf8" });
}

function run(name: string, text: string): string {
	writeFileSync(join(directory, name), text);
	return execFileSync(process.execPath, [name], { cwd: directory, encoding: "utf8" });
}

test("it holds what was built of src, and nothing else but words", () => {
	const sources = readdirSync(join(root, "src")).map((name) => name.slice(0, -".ts".length));
	const wanted = ["LICENSE", "README.md", "package.json", "dist/wfcore.wasm", ...sources.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`])];
	assert.deepEqual(packed.files.map((file) => file.path).sort(), wanted.sort());
	for (const { path, size, mode } of packed.files) {
		assert.ok(size > 0, path);
		assert.equal(mode & 0o444, 0o444, `${path} cannot be read by others`);
	}
});

test("its licence is that of the whole", () => {
	assert.equal(read(installed, "LICENSE"), read(root, "../LICENSE"));
});

test("it installs alone, and runs nothing by doing so", () => {
	const known = Object.keys((JSON.parse(read(directory, "package-lock.json")) as { packages: object }).packages);
	assert.deepEqual(known, ["", "node_modules/wfcore-host-shim"]);
	const { scripts, dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(read(installed, "package.json")) as Record<string, object | undefined>;
	assert.equal(dependencies, undefined);
	const optional = Object.keys(peerDependencies ?? {}).map((name) => [name, { optional: true }]);
	assert.deepEqual(peerDependenciesMeta, Object.fromEntries(optional), "Pi alone is asked for, where there is one");
	assert.deepEqual(Object.keys(scripts ?? {}).filter((name) => /install|prepare/.test(name)), []);
});

test("nothing in it names another file of the repository or another package", () => {
	for (const name of readdirSync(join(installed, "dist")).filter((file) => file.endsWith(".js"))) {
		for (const [, from = ""] of read(installed, "dist", name).matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
			assert.match(from, /^(node:|\.\/[\w-]+\.js$)/, name);
		}
	}
});

test("plain JavaScript uses it", () => {
	const text = `
		import { openStore, WfcoreError } from "wfcore-host-shim";
		const store = openStore({ path: "plain/store.sqlite" });
		const { runId } = store.newRunId({ workflowName: "greet" });
		store.reservePreparedRun({ runId, workflowName: "greet", workflowSourceRef: "builtin:greet", workflowSource: {}, definitionDigest: "d" });
		store.close();
		try {
			openStore({ path: "none.sqlite", existing: true });
		} catch (error) {
			console.log(error instanceof WfcoreError, error.code);
		}
		console.log(openStore({ path: "plain/store.sqlite", readOnly: true }).getRun({ runId }).status);
	`;
	assert.equal(run("plain.js", text), "true not_found\nqueued\n");
});

test("a core that is not there, or damaged, is no core of this version", () => {
	const text = `
		import { truncateSync, rmSync } from "node:fs";
		import { DatabaseSync } from "node:sqlite";
		import { openStore } from "./damaged/dist/index.js";
		for (const damage of [(file) => truncateSync(file, 1000), rmSync]) {
			damage("damaged/dist/wfcore.wasm");
			try {
				openStore({ database: new DatabaseSync(":memory:") });
			} catch (error) {
				console.log(error.code, error.retryable, error.cause instanceof Error);
			}
		}
	`;
	cpSync(installed, join(directory, "damaged"), { recursive: true });
	assert.equal(run("damaged.js", text), "abi_mismatch false true\n".repeat(2));
});

test("only what is exported can be imported", () => {
	const text = `
		const failed = [];
		for (const path of ["dist/core.js", "store", "package.json"]) {
			await import("wfcore-host-shim/" + path).catch((error) => failed.push(error.code));
		}
		console.log(failed.join(" "));
	`;
	assert.equal(run("inside.js", text), `${Array(3).fill("ERR_PACKAGE_PATH_NOT_EXPORTED").join(" ")}\n`);
});

const strict = {
	target: "es2023", lib: ["es2023", "esnext.disposable"], module: "nodenext", types: ["node"], outDir: "out", noEmitOnError: true,
	strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noImplicitOverride: true,
	noImplicitReturns: true, noFallthroughCasesInSwitch: true, noPropertyAccessFromIndexSignature: true, noUnusedLocals: true,
	noUnusedParameters: true, noUncheckedSideEffectImports: true, verbatimModuleSyntax: true, isolatedModules: true,
};

/** A whole host, by script. */
const program = `
	import { DatabaseSync } from "node:sqlite";
	import { openStore, WfcoreError, WorkflowHost, type Code, type Connection, type RunStatus, type Store, type StoreOptions } from "wfcore-host-shim";
	import { ScriptedEngine, ScriptedSession } from "wfcore-host-shim/testing";

	const options: StoreOptions = { path: "typed.sqlite" };
	const store: Store = openStore(options);
	const host = new WorkflowHost({ store, session: new ScriptedSession("s"), engine: new ScriptedEngine() });
	await host.sessionStart();
	const { run, text } = await host.start("greet", { who: "world" });
	const found: RunStatus | null = store.getRun({ runId: run.runId });
	console.log(text === \`Workflow greet queued (run \${run.runId}).\`, found?.status);
	await host.shutdown();
	store.close();

	let code: Code | undefined;
	try {
		store.listRuns({ limit: 1 });
	} catch (error) {
		code = error instanceof WfcoreError ? error.code : undefined;
	}
	console.log(code);

	// @ts-expect-error: a limit is needed
	const unlimited: () => unknown = () => store.listRuns({});
	// @ts-expect-error: there is no such field
	const unknown: () => unknown = () => store.listRuns({ limit: 1, more: true });
	const lent: (connection: Connection) => Store = (database) => openStore({ database });
	using memory = openStore({ database: new DatabaseSync(":memory:") });
	console.log(memory.listRuns({ limit: 1 }).length, [unlimited, unknown, lent].length);
`;

test("a strict TypeScript program compiles against it, and runs", () => {
	mkdirSync(join(directory, "typed"));
	symlinkSync(join(modules, "@types"), join(directory, "node_modules/@types"));
	symlinkSync(join(modules, "undici-types"), join(directory, "node_modules/undici-types"));
	writeFileSync(join(directory, "typed/main.ts"), program);
	writeFileSync(join(directory, "typed/tsconfig.json"), JSON.stringify({ compilerOptions: strict, include: ["main.ts"] }));
	const tsc = [join(modules, "typescript/bin/tsc"), "-p", "typed"];
	execFileSync(process.execPath, tsc, { cwd: directory, stdio: ["ignore", "inherit", "inherit"] });
	const output = execFileSync(process.execPath, ["typed/out/main.js"], { cwd: directory, encoding: "utf8" });
	assert.equal(output, "true queued\nstore_closed\n0 3\n");
});
