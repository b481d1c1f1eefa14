// Told that its workflow failed to start, it inspects that run and starts the workflow again.

import lite from "./lite.model.ts";
import { textOf } from "./model.ts";
import type { Answer, ModelContext } from "./model.ts";

export default function (context: ModelContext): Answer {
	const at = context.messages.findLastIndex((message) => message.role === "user");
	const failed = /^Workflow (\S+) failed to start \(run (\S+)\)/.exec(textOf(context.messages[at]));
	if (failed === null) return lite(context);
	const [, name, runId] = failed;
	switch (context.messages.length - 1 - at) {
		case 0:
			return { tool: "workflow", args: { action: "status", runId } };
		case 2:
			return { tool: "workflow", args: { action: "start", name, input: { who: "world" } } };
	}
	return "I have started it again";
}
