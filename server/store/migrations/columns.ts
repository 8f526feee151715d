import { type ColumnBuilderCallback, type ColumnDataType, type RawBuilder, sql } from 'kysely';

type DataType = ColumnDataType | RawBuilder<unknown>;

/** The few column types that SQLite and PostgreSQL spell differently. */
export interface ColumnTypes {
  /** A primary key that only ever grows, also after the newest row was deleted. */
  autoId: [DataType, ColumnBuilderCallback];
  bytes: DataType;
}

export type Dialect = 'sqlite' | 'postgres';

export const COLUMN_TYPES: Record<Dialect, ColumnTypes> = {
  sqlite: {
    autoId: ['integer', (column) => column.primaryKey().autoIncrement()],
    bytes: 'blob',
  },
  postgres: {
    autoId: ['bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity()],
    bytes: sql`bytea`,
  },
};
