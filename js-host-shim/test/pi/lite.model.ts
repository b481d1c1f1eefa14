// Does what it is told: each line of the last message that is a JSON object is a call of the tool
// `workflow`, made one after the other; `hold NAME` delays the last answer.

import { textOf } from "./model.ts";
import type { Answer, ModelContext } from "./model.ts";

export default function (context: ModelContext): Answer {
	const at = context.messages.findLastIndex((message) => message.role === "user");
	const lines = textOf(context.messages[at]).split("\n");
	const done = context.messages.slice(at).filter((message) => message.role === "toolResult").length;
	const line = lines[done] ?? "";
	if (line.startsWith("{")) return { tool: "workflow", args: JSON.parse(line) };
	const hold = /^hold (\w+)$/.exec(line)?.[1];
	return hold === undefined ? "done" : { text: "done", hold };
}
