// A core of another version, or of none, is refused before it is used.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Core, type CoreHost } from "../../dist/core.js";
import { refused } from "./temp.ts";

const host: CoreHost = { now: Date.now, random: () => {}, stderr: () => {}, sql: () => ({ prepare: () => 0, run: () => 0, result: () => {} }) };

const vector = (items: number[][]) => [items.length, ...items.flat()];
const section = (id: number, items: number[][]) => {
	const content = vector(items);
	return [id, content.length, ...content];
};
const name = (text: string) => [text.length, ...Buffer.from(text)];

const typeSection = section(1, [[0x60, 0, 0], [0x60, 0, 1, 0x7f]]); // () → (), () → i32
const compile = (...sections: number[][]) =>
	new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...typeSection, ...sections.flat()]));

/** A core that says a version of the ABI, and can do no more. */
const core = (version: number) =>
	compile(
		section(3, [[0], [1]]),
		section(5, [[0, 1]]),
		section(7, [[...name("memory"), 2, 0], [...name("_initialize"), 0, 0], [...name("wfcore_abi_version"), 0, 1]]),
		section(10, [[2, 0, 0x0b], [4, 0, 0x41, version, 0x0b]]),
	);

test("a core of this version starts", () => {
	assert.ok(new Core(host, core(1)));
});

for (const version of [0, 2, 63]) {
	test(`a core of version ${version} does not`, () => {
		const error = refused("abi_mismatch", () => new Core(host, core(version)));
		assert.match(error.message, new RegExp(`version ${version}\\b`));
		assert.equal(error.retryable, false);
	});
}

test("a core that imports what is not there does not", () => {
	for (const from of ["wfcore_sql", "wasi_snapshot_preview1", "wasi_snapshot_preview2"]) {
		const error = refused("abi_mismatch", () => new Core(host, compile(section(2, [[...name(from), ...name("nothing"), 0, 0]]))));
		assert.ok(error.cause instanceof Error);
	}
});

test("a core that traps at its start is not one of another version", () => {
	const traps = compile(section(3, [[0]]), [8, 1, 0], section(10, [[3, 0, 0, 0x0b]]));
	assert.throws(() => new Core(host, traps), WebAssembly.RuntimeError);
});

test("a module that is no core does not", () => {
	refused("abi_mismatch", () => new Core(host, compile()));
});
