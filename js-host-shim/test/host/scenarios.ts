// What a process goes through, for tests in which it dies or its store fails on the way.

import assert from "node:assert/strict";
import type { RunControl } from "wfcore-host-shim";
import type { Appending } from "wfcore-host-shim/testing";
import { step, stopped, type Fault, type Process, type World } from "./world.ts";

export interface Scenario {
	/** Readies a process; `attemptId` is that of the steps that it prompts for. */
	ready: (p: Process, attemptId: string) => void;
	/** What happens in the first process, after its turn has settled. */
	then?: (p: Process, runId: string) => Promise<void>;
	/** How its run ends where nothing goes wrong. */
	status: string;
	/** How many turns are owed for it then. */
	owed: number;
	appending?: Appending;
}

/** Prompts the agent, and is done once the session shows it. */
function prompts(p: Process, attemptId: string): void {
	p.engine.script = async (control: RunControl) => {
		await control.node();
		control.prompt({ ...step, attemptId });
		const stop = stopped(control);
		stop.catch(() => {});
		while (!p.session.messages.some(({ details }) => details?.["attemptId"] === attemptId)) {
			await Promise.race([stop, p.next()]);
		}
		control.stepEnded();
		await control.node();
		return { outcome: "done" };
	};
}

function waits(p: Process, attemptId: string): void {
	p.engine.script = async (control: RunControl) => {
		await control.node();
		control.prompt({ ...step, attemptId });
		return stopped(control);
	};
}

function timesOut(p: Process, attemptId: string): void {
	p.engine.script = async (control: RunControl) => {
		await control.node();
		control.prompt({ ...step, attemptId });
		await p.next();
		return control.timedOut("it took an hour");
	};
}

/** The agent cancels, and again where it is told that it could not be stored. */
async function cancels(p: Process, runId: string): Promise<void> {
	await p.polls(1);
	for (let i = 0; i < 2; i++) {
		try {
			await p.until(p.host.cancel(runId, "agent"));
			return;
		} catch {
			// it looks at what stands
		}
	}
}

export const scenarios: Record<string, Scenario> = {
	"a launch": { ready: prompts, status: "done", owed: 0 },
	"a failed launch": {
		ready: (p) => {
			p.engine.buildFailure = new Error("no such file");
		},
		status: "failed",
		owed: 1,
	},
	"a failed launch whose message shows late": {
		ready: (p) => {
			p.engine.buildFailure = new Error("no such file");
		},
		status: "failed",
		owed: 1,
		appending: "late",
	},
	"a crash of an engine": {
		ready: (p) => {
			p.engine.script = async (control) => {
				await control.node();
				throw new Error("no provider");
			};
		},
		status: "failed",
		owed: 1,
	},
	"a cancel by the agent": {
		ready: (p, attemptId) => (attemptId === "1" ? waits(p, attemptId) : prompts(p, attemptId)),
		then: cancels,
		status: "cancelled",
		owed: 1,
	},
	"a step that times out": {
		ready: (p, attemptId) => (attemptId === "1" ? timesOut(p, attemptId) : prompts(p, attemptId)),
		then: async (p) => p.polls(1),
		status: "failed",
		owed: 1,
	},
};

/** What holds however it went: each turn that was owed was given once, by one message. */
export function holds(world: World, runId: string): void {
	for (const { intentId, resolution } of world.intents()) {
		const messages = world.session.messages.filter(({ details }) => details?.["turnIntentId"] === intentId);
		assert.equal(messages.length, 1, "messages of an intent");
		assert.notEqual(resolution, null);
	}
	assert.ok(world.intents().length <= 1, "turns owed");
	const events = world.events(runId);
	const ends = events.filter((type) => ["done", "failed", "launch_failed", "cancelled"].includes(type));
	assert.equal(ends.length, 1, `ends: ${events}`);
	assert.ok(events.filter((type) => type === "running").length <= 1, `running: ${events}`);
}

/** More calls than a process makes. */
export const limit = 150;

/** A process that meets a fault at one of its calls, after its run was queued. */
export async function firstProcess(world: World, scenario: Scenario, fault: Fault, n: number): Promise<[Process, string]> {
	const p = world.process();
	scenario.ready(p, "1");
	p.session.appending = scenario.appending ?? "now";
	const runId = await p.start();
	const from = p.calls;
	p.faults = (call) => (call - from === n ? fault : undefined);
	await p.settle();
	if (!p.dead) {
		await scenario.then?.(p, runId);
	}
	await p.goesOn(3);
	return [p, runId];
}
