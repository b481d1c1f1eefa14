import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Connection, SqlValue, Statement } from "./connection.ts";

/** A connection of `node:sqlite`. */
export function nodeSqlite(database: DatabaseSync): Connection {
	return {
		prepare(sql: string): Statement {
			const statement = database.prepare(sql);
			statement.setReadBigInts(true);
			statement.setReturnArrays(true);
			// get() reports success although a commit failed, so it is all() always.
			return { all: (args) => statement.all(named(args)) as unknown as SqlValue[][] };
		},
		resultCode: (error) => (typeof error === "object" && error !== null && "errcode" in error ? Number(error.errcode) : 0),
		isOpen: () => database.isOpen,
		inTransaction: () => database.isTransaction,
		close: () => database.close(),
	};
}

/** By name, since some versions take ?1 for a name, and an argument by its place for one too many. */
function named(args: readonly SqlValue[]): Record<string, SQLInputValue> {
	return Object.fromEntries(args.map((value, i) => [`?${i + 1}`, value as SQLInputValue]));
}
