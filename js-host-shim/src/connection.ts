/** A value of SQLite: INTEGER is a bigint, REAL a number. */
export type SqlValue = null | bigint | number | string | Uint8Array;

/** One prepared statement. */
export interface Statement {
	/**
	 * Runs the statement to its end, with an argument for each of ?1, ?2, …, and returns
	 * all rows, each with its values in the order of its columns.
	 */
	all(args: readonly SqlValue[]): readonly (readonly SqlValue[])[];
}

/**
 * A SQLite connection that a host lends. Everything is synchronous. An adapter of
 * another driver is these five.
 */
export interface Connection {
	prepare(sql: string): Statement;
	/** SQLite's extended result code of what a method threw, 0 where it has none. */
	resultCode(error: unknown): number;
	/** False once it was closed. */
	isOpen(): boolean;
	/** True while a transaction is open. */
	inTransaction(): boolean;
	close(): void;
}
