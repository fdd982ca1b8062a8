/** Whether the schema is there: once for each store, before its first statement. */
import { ToolError } from '../core/errors.js'
import { failureKind, lacksSchema, storeError, unreachable } from './failures.js'
import type { Layout } from './days.js'
import { isTrue } from './rows.js'
import { migrationBlock, quoted, SCHEMA_VERSION } from './schema.js'
import type { Session } from './session.js'

/** Brings the schema up to date. A table that is partitioned stays so. @returns how the calls are kept. */
export async function migrate(session: Session, schema: string, wanted: Layout = 'table'): Promise<Layout> {
  for (let tries = 1; ; tries += 1) {
    try {
      const layout = (await isByDay(session, schema)) ? 'days' : wanted
      await session.ask(migrationBlock(schema, layout))
      return layout
    } catch (error) {
      // Of two that begin at once, the one that waited may still see the catalogue as it was.
      const state = ToolError.isInstance(error) ? String(error.details['sqlState']) : ''
      if (tries === 5 || !/^(?:23505|42P0[67]|42710|42701|XX000)$/u.test(state)) throw error
    }
  }
}

const isByDay = async (session: Session, schema: string): Promise<boolean> => {
  const [row] = await session.ask(`SELECT to_regclass($1::text) IS NOT NULL AS is_by_day`, [`${quoted(schema)}._toolwright_days`])
  return isTrue(row?.['is_by_day'])
}

/**
 * Checks the schema, and makes it where it is missing or older.
 *
 * @param wanted how the calls are kept in a new table
 * @returns how they are kept
 * @throws {ToolError} JOURNAL_SCHEMA_MISMATCH for a newer one; JOURNAL_NOT_FOUND, JOURNAL_UNREACHABLE, JOURNAL_OPEN_FAILED, …
 */
export async function checkSchema(session: Session, schema: string, mayMigrate: boolean, wanted: Layout = 'table'): Promise<Layout> {
  const { version, layout, encoding } = await versionOf(session, schema)
  // A text that a tool gives may have any character, and would be refused after the call was made.
  const kept = encoding ?? (await encodingOf(session))
  if (!/^(?:UTF8|SQL_ASCII)$/u.test(kept)) throw notUnicode(session.place, kept)
  if (version === SCHEMA_VERSION) return layout
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
  if (mayMigrate) return migrate(session, schema, version === undefined ? wanted : layout)
  const summary = version === undefined ? 'Journal does not exist' : 'The tables of the journal are older'
  throw new ToolError({
    code: version === undefined ? 'JOURNAL_NOT_FOUND' : 'JOURNAL_SCHEMA_MISMATCH',
    summary,
    place: `${summary}: schema \`${schema}\` (\`${session.place}\`)`,
    hint: 'Run `npx toolwright journal migrate`.',
    details: { path: session.place },
  })
}

const encodingOf = async (session: Session): Promise<string> =>
  String((await session.ask(`SELECT current_setting('server_encoding') AS encoding`))[0]?.['encoding'])

function notUnicode(place: string, encoding: string): ToolError {
  const summary = 'The database does not keep every character'
  return new ToolError({
    code: 'JOURNAL_OPEN_FAILED',
    summary,
    place: `${summary}: its encoding is ${encoding} (\`${place}\`)`,
    hint: "Use another database: CREATE DATABASE journal ENCODING 'UTF8' TEMPLATE template0.",
    details: { path: place, encoding },
  })
}

/** The first statement of a store does not wait for a server: a wrong address is told at once. */
async function versionOf(
  session: Session,
  schema: string,
): Promise<{ version: number | undefined; layout: Layout; encoding?: string | undefined }> {
  const start = performance.now()
  try {
    session.statements += 1
    const [row] = await session.client.query(
      `SELECT max(version) AS version, to_regclass($1::text) IS NOT NULL AS is_by_day, current_setting('server_encoding') AS encoding FROM ${quoted(schema)}._toolwright_schema`,
      [`${quoted(schema)}._toolwright_days`],
    )
    const version = row?.['version'] === null ? undefined : Number(row?.['version'])
    return { version, layout: isTrue(row?.['is_by_day']) ? 'days' : 'table', encoding: String(row?.['encoding']) }
  } catch (error) {
    if (lacksSchema(error)) return { version: undefined, layout: 'table' }
    if (failureKind(error) === 'connection') throw unreachable(error, session.place, performance.now() - start)
    throw storeError(error, session.place)
  }
}
