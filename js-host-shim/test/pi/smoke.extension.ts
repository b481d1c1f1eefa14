// A throwaway extension: what the tool notes is told to the agent in a turn of its own.

import { Type } from "typebox";

export default function (pi: any): void {
	let noted: string | undefined;
	pi.registerTool({
		name: "note",
		label: "Note",
		description: "Notes a word.",
		parameters: Type.Object({ word: Type.String() }),
		async execute(_id: string, params: { word: string }) {
			noted = params.word;
			return { content: [{ type: "text", text: `noted ${noted}` }], details: { word: noted } };
		},
	});
	pi.on("agent_settled", () => {
		if (noted === undefined) return;
		const word = noted;
		noted = undefined;
		pi.sendMessage(
			{ customType: "smoke", content: `later: ${word}`, display: true, details: { word } },
			{ deliverAs: "followUp", triggerTurn: true },
		);
	});
	pi.registerCommand("session", {
		description: "Shows the session id",
		handler: async (args: string, ctx: any) => {
			ctx.ui.notify(`${args} ${ctx.sessionManager.getSessionId()}`, "info");
		},
	});
}
