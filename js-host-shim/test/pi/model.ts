// The model of a test is a module whose default export is a Model. It answers from the request
// alone: it keeps no state, so that what it does shows that it was told. What follows are its
// types and a few readers of a conversation.

export interface Message {
	role: "user" | "assistant" | "toolResult";
	content: string | { type: string; [key: string]: any }[];
	toolName?: string;
	isError?: boolean;
	[key: string]: unknown;
}

export interface ModelContext {
	system: string;
	tools: { name: string; description: string; parameters: unknown }[];
	messages: Message[];
}

// `hold` delays the answer until the test calls release(hold), or the turn is aborted.
export type Block =
	| string
	| { text: string; hold?: string }
	| { tool: string; args?: Record<string, any>; hold?: string }
	| { error: string; hold?: string };

export type Answer = Block | Block[];

export type Model = (context: ModelContext) => Answer | Promise<Answer>;

export function textOf(message: Message | undefined): string {
	if (!message) return "";
	if (typeof message.content === "string") return message.content;
	return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

export function last(context: ModelContext): Message {
	const message = context.messages.at(-1);
	if (!message) throw new Error("a request without a message");
	return message;
}
