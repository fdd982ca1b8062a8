/** `toolwright/postgres`: a journal and threads in PostgreSQL, for any number of machines. */
export type { PgPool, PostgresClient, SqlClient, SqlFunction, SqlRow } from './postgres/client.js'
export { type PostgresStore, postgresStore, type PostgresStoreOptions } from './postgres/postgres-store.js'
export type { JournalOwner } from './postgres/reads.js'
export type { Archived, ArchiveOptions } from './postgres/archive/archive.js'
export type { PruneOptions } from './postgres/prune.js'
export { type MigrationOptions, migrationScript } from './postgres/schema.js'
export { postgresThreads, type PostgresThreadsOptions } from './postgres/threads/postgres-threads.js'
