// The programs of the README run, and type-check.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^```(js|ts)\n([\s\S]*?)^```/gm)].map(
	([, language = "", text = ""]) => ({ language, text }),
);
const output = [
	/^Workflow greet queued .*\nthe step got \{ who: 'world' \}\nWorkflow greet is done /,
	/^Workflow greet failed to start .*"the disk is on fire"\.\nInspect the error/,
];

/** Runs with a file of the block inside the package, where it finds the package by its name. */
function withFile(text: string, extension: string, run: (file: string) => void): void {
	const directory = mkdtempSync(join(root, "test", "tmp-"));
	try {
		const file = join(directory, `block.${extension}`);
		writeFileSync(file, text);
		run(file);
	} finally {
		rmSync(directory, { recursive: true });
	}
}

test("the README has three programs", () => {
	assert.deepEqual(blocks.map((b) => b.language), ["js", "ts", "ts"]);
});

for (const [i, wanted] of output.entries()) {
	test(`program ${i + 1} of the README runs`, () => {
		const { language, text } = blocks[i]!;
		const cwd = mkdtempSync(join(tmpdir(), "readme-"));
		try {
			withFile(text, language === "js" ? "mjs" : "ts", (file) => {
				assert.match(execFileSync(process.execPath, [file], { cwd, encoding: "utf8" }), wanted);
			});
		} finally {
			rmSync(cwd, { recursive: true });
		}
	});
}

test("the TypeScript of the README is sound", () => {
	const text = blocks.slice(1).map((b) => b.text);
	for (const block of text) {
		withFile(block, "ts", (file) => {
			const flags = ["--ignoreConfig", "--noEmit", "--strict", "--target", "es2023", "--module", "nodenext", "--skipLibCheck", "--types", "node"];
			execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...flags, file], { stdio: ["ignore", "inherit", "inherit"] });
		});
	}
});
