// The part of WASI preview 1 that the core needs: clock, random, stderr and exit. All
// else that the Go runtime links answers an errno. See docs/abi.md.

/** Thrown through the core where it exits: its instance must not be used again. */
export class Exit extends Error {}

const success = 0;
const badDescriptor = 8;
const notSupported = 58;

export interface World {
	/** Milliseconds since 1970. */
	now: () => number;
	random: (into: Uint8Array) => void;
	stderr: (text: string) => void;
	memory: () => ArrayBuffer;
}

export function preview1(world: World): Record<string, (...args: never[]) => number | void> {
	const view = () => new DataView(world.memory());
	const unsupported = () => notSupported;
	const unknownDescriptor = () => badDescriptor;
	const none = (count: number, size: number) => {
		view().setUint32(count, 0, true);
		view().setUint32(size, 0, true);
		return success;
	};
	return {
		args_get: () => success,
		args_sizes_get: none,
		environ_get: () => success,
		environ_sizes_get: none,
		clock_time_get(id: number, _precision: bigint, into: number) {
			// A fraction of a microsecond is lost in a double; a lease is in milliseconds.
			const nanoseconds = id === 0 ? BigInt(Math.trunc(world.now())) * 1_000_000n : BigInt(Math.trunc(performance.now() * 1e6));
			view().setBigUint64(into, nanoseconds, true);
			return success;
		},
		random_get(into: number, length: number) {
			world.random(new Uint8Array(world.memory(), into, length));
			return success;
		},
		fd_write(descriptor: number, vectors: number, count: number, written: number) {
			if (descriptor !== 2) {
				return badDescriptor;
			}
			const memory = view();
			let total = 0;
			for (let i = 0; i < count; i++) {
				const length = memory.getUint32(vectors + 8 * i + 4, true);
				world.stderr(new TextDecoder().decode(new Uint8Array(world.memory(), memory.getUint32(vectors + 8 * i, true), length)));
				total += length;
			}
			memory.setUint32(written, total, true);
			return success;
		},
		proc_exit(status: number) {
			throw new Exit(`the core exited with ${status}`);
		},
		sched_yield: () => success,
		fd_prestat_get: unknownDescriptor,
		fd_prestat_dir_name: unknownDescriptor,
		fd_close: unknownDescriptor,
		fd_read: unknownDescriptor,
		fd_fdstat_get: unknownDescriptor,
		fd_fdstat_set_flags: unknownDescriptor,
		poll_oneoff: unsupported,
	};
}
