import { last, textOf } from "./model.ts";
import type { Answer, ModelContext } from "./model.ts";

export default function (context: ModelContext): Answer {
	const message = last(context);
	const text = textOf(message);
	if (message.role === "toolResult") return `the tool said: ${text}`;
	if (text.startsWith("later: ")) return `told of ${text.slice("later: ".length)}`;
	const word = /^note (\w+)$/.exec(text)?.[1];
	if (word) return { tool: "note", args: { word } };
	return { text: "nothing to do", hold: "talk" };
}
