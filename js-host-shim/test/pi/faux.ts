// A Pi extension: the provider `faux`, whose model is a script (see ./model.ts for its shape).
//
// WFTEST_MODEL     the script: its default export answers a request
// WFTEST_REQUESTS  a JSONL file: what the model saw and what it answered, one line a request
// WFTEST_GATES     a directory: answers with `hold` wait there until the test releases them

import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
	fauxAssistantMessage,
	fauxProvider,
	fauxText,
	fauxToolCall,
	getCurrentSystemPrompt,
	getCurrentTools,
} from "@earendil-works/pi-ai";
import type { Answer, Model, ModelContext } from "./model.ts";

function setting(name: string): string {
	const value = process.env[name];
	if (!value) throw new Error(`${name} is not set`);
	return value;
}

async function released(name: string, signal: AbortSignal | undefined): Promise<void> {
	const gates = setting("WFTEST_GATES");
	writeFileSync(join(gates, `${name}.held`), "");
	while (!existsSync(join(gates, `${name}.released`)) && !signal?.aborted) {
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

function assistantMessage(answer: Answer) {
	const blocks = Array.isArray(answer) ? answer : [answer];
	let errorMessage: string | undefined;
	const content = [];
	for (const block of blocks) {
		if (typeof block === "string") content.push(fauxText(block));
		else if ("text" in block) content.push(fauxText(block.text));
		else if ("tool" in block) content.push(fauxToolCall(block.tool, block.args ?? {}));
		else if ("error" in block) errorMessage = block.error;
	}
	if (errorMessage !== undefined) {
		return fauxAssistantMessage(content, { stopReason: "error", errorMessage });
	}
	const calls = content.some((block) => block.type === "toolCall");
	return fauxAssistantMessage(content, { stopReason: calls ? "toolUse" : "stop" });
}

export default async function (pi: any): Promise<void> {
	const script = await import(pathToFileURL(setting("WFTEST_MODEL")).href);
	const model: Model = script.default;
	const faux = fauxProvider();
	const respond = async (context: any, options: any) => {
		faux.appendResponses([respond]);
		// A copy, so that a script can neither change the conversation nor be told of later parts of it.
		const seen: ModelContext = structuredClone({
			system: getCurrentSystemPrompt(context.messages),
			tools: getCurrentTools(context.messages),
			messages: context.messages.filter((message: any) => message.role !== "system"),
		});
		const record = (answer: unknown) =>
			appendFileSync(setting("WFTEST_REQUESTS"), `${JSON.stringify({ pid: process.pid, ...seen, answer })}\n`);
		let answer: Answer;
		try {
			answer = await model(structuredClone(seen));
		} catch (error) {
			record({ error: String(error) });
			throw error;
		}
		record(answer);
		for (const block of Array.isArray(answer) ? answer : [answer]) {
			if (typeof block === "object" && block.hold) await released(block.hold, options?.signal);
		}
		return assistantMessage(answer);
	};
	faux.setResponses([respond]);
	pi.registerProvider(faux.provider);
}
