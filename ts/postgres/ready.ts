/** Whether the schema is there: once for each store, before its first statement. */
import { ToolError } from '../core/errors.js'
import { failureKind, lacksSchema, storeError, unreachable } from './failures.js'
import { migrationBlock, quoted, SCHEMA_VERSION } from './schema.js'
import type { Session } from './session.js'

/** Brings the schema up to date. */
export async function migrate(session: Session, schema: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await session.ask(migrationBlock(schema))
      return
    } catch (error) {
      // Of two that begin at once, the one that waited may still see the catalogue as it was.
      const state = ToolError.isInstance(error) ? String(error.details['sqlState']) : ''
      if (tries === 5 || !/^(?:23505|42P0[67]|42710|42701|XX000)$/u.test(state)) throw error
    }
  }
}

/**
 * Checks the schema, and makes it where it is missing or older.
 *
 * @throws {ToolError} JOURNAL_SCHEMA_MISMATCH for a newer one; JOURNAL_NOT_FOUND, JOURNAL_UNREACHABLE, JOURNAL_OPEN_FAILED, …
 */
export async function checkSchema(session: Session, schema: string, mayMigrate: boolean): Promise<void> {
  const version = await versionOf(session, schema)
  if (version === SCHEMA_VERSION) return
  if (version !== undefined && version > SCHEMA_VERSION) {
    const summary = 'A newer version of this package has changed the tables of the journal'
    throw new ToolError({
      code: 'JOURNAL_SCHEMA_MISMATCH',
      summary,
      place: `${summary}: version ${version}, where this one writes ${SCHEMA_VERSION} (\`${session.place}\`)`,
      hint: 'Update this package.',
      details: { path: session.place, version },
    })
  }
  if (mayMigrate) return migrate(session, schema)
  const summary = version === undefined ? 'Journal does not exist' : 'The tables of the journal are older'
  throw new ToolError({
    code: version === undefined ? 'JOURNAL_NOT_FOUND' : 'JOURNAL_SCHEMA_MISMATCH',
    summary,
    place: `${summary}: schema \`${schema}\` (\`${session.place}\`)`,
    hint: 'Run `npx toolwright journal migrate`.',
    details: { path: session.place },
  })
}

/** The first statement of a store does not wait for a server: a wrong address is told at once. */
async function versionOf(session: Session, schema: string): Promise<number | undefined> {
  const start = performance.now()
  try {
    session.statements += 1
    const [row] = await session.client.query(`SELECT max(version) AS version FROM ${quoted(schema)}._toolwright_schema`, [])
    return row?.['version'] === null ? undefined : Number(row?.['version'])
  } catch (error) {
    if (lacksSchema(error)) return undefined
    if (failureKind(error) === 'connection') throw unreachable(error, session.place, performance.now() - start)
    throw storeError(error, session.place)
  }
}
