// Named points at which a test kills Pi, and a Pi extension that has some.
//
// WFTEST_STOP_AT    the point, or `point#2` for the second time that it is reached
// WFTEST_STOP_FILE  made when it is reached; then the whole process stands still
//
// As an extension this one has a point `event:NAME` for the events below. It runs before or after
// the handlers of other extensions as Pi loads them. For points inside an extension, a test
// extension calls the extension's factory with stopping(pi).

import { existsSync, renameSync, writeFileSync } from "node:fs";

const [wanted, nth] = (process.env.WFTEST_STOP_AT ?? "").split("#");
let left = Number(nth ?? 1);

// Blocks here for ever if this is the point that the test asked for.
export function stopAt(point: string): void {
	if (point !== wanted || --left !== 0) return;
	const file = process.env.WFTEST_STOP_FILE;
	if (!file || existsSync(file)) return;
	writeFileSync(`${file}.new`, point);
	renameSync(`${file}.new`, file);
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

async function around<T>(point: string, act: () => T): Promise<Awaited<T>> {
	stopAt(`${point}:before`);
	const result = await act();
	stopAt(`${point}:after`);
	return result;
}

// The extension API with the points `send:before`, `send:after`, and for every handler and tool
// `EVENT:before`, `EVENT:after`, `tool:NAME:before` and `tool:NAME:after`.
export function stopping(pi: any): any {
	return {
		...pi,
		on: (event: string, handler: any) => pi.on(event, (...args: any[]) => around(event, () => handler(...args))),
		registerTool: (tool: any) =>
			pi.registerTool({
				...tool,
				execute: (...args: any[]) => around(`tool:${tool.name}`, () => tool.execute(...args)),
			}),
		sendMessage: (...args: any[]) => {
			stopAt("send:before");
			pi.sendMessage(...args);
			stopAt("send:after");
		},
	};
}

export default function (pi: any): void {
	for (const event of [
		"session_start",
		"session_shutdown",
		"before_agent_start",
		"agent_start",
		"turn_start",
		"tool_call",
		"tool_result",
		"turn_end",
		"agent_end",
		"agent_settled",
	]) {
		pi.on(event, () => stopAt(`event:${event}`));
	}
	pi.on("message_end", (event: any) => {
		stopAt(`event:message_end:${event.message.customType ?? event.message.role}`);
	});
}
