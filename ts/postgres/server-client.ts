/** Connections of our own to a server, by its address. */
import { ToolError } from '../core/errors.js'
import { loadLate } from '../core/late-code.js'
import type { SqlClient } from './client.js'

/** @throws {ToolError} JOURNAL_LOCATION_INVALID; JOURNAL_OPEN_FAILED without `pg`. */
export async function openServerClient(
  address: string,
  patienceMs: number,
): Promise<{ client: Required<SqlClient>; schema: string; shown: string }> {
  const { schema, connection, shown, prepares } = parseAddress(address)
  const { Pool } = await loadPg()
  const pool = new Pool({ connectionString: connection, max: 4, connectionTimeoutMillis: patienceMs, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  const client = {
    query: async (query: string, values: readonly (string | null)[], name?: string) =>
      (
        await pool.query(
          name === undefined || !prepares ? { text: query, values: [...values] } : { text: query, values: [...values], name },
        )
      ).rows,
    end: () => pool.end(),
  }
  return { client, schema, shown }
}

/** The connection without our own parameters, and the address without password and parameters. */
function parseAddress(address: string): { schema: string; connection: string; shown: string; prepares: boolean } {
  // The host of a socket is a parameter, and a URL without one is none.
  const whole = address.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[/?#]|$)/iu, '$1socket')
  if (!URL.canParse(whole)) throw locationInvalid(address.replace(/^([a-z]+:\/\/).*@/iu, '$1').replace(/\?.*$/u, ''))
  const { protocol, username, host, pathname, searchParams } = new URL(whole)
  const schema = searchParams.get('schema') ?? 'public'
  const shown = `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
  const prepare = searchParams.get('prepare') ?? 'true'
  if (schema === '' || !/^(?:true|false)$/u.test(prepare)) throw locationInvalid(shown)
  const without = (text: string, name: string): string =>
    text.replace(new RegExp(`([?&])${name}=[^&#]*(&|$)`, 'u'), (_, first: string, last: string) => (last === '' ? '' : first))
  return { schema, connection: without(without(address, 'schema'), 'prepare'), shown, prepares: prepare === 'true' }
}

function locationInvalid(shown: string): ToolError {
  const summary = 'Journal location is invalid'
  return new ToolError({
    code: 'JOURNAL_LOCATION_INVALID',
    summary,
    place: `${summary}: \`${shown}\``,
    hint: 'Write postgres://user@host:5432/database, with ?schema=<name> or ?prepare=false where they are needed.',
    details: { path: shown },
  })
}

interface Pg {
  Pool: new (options: object) => {
    query(query: object): Promise<{ rows: Record<string, unknown>[] }>
    on(event: 'error', listener: () => void): unknown
    end(): Promise<void>
  }
}

/** A name in a constant and comments, so that bundlers leave a package alone that may be missing. */
const CLIENT: string = 'pg'

const loadClient = loadLate(
  async () =>
    (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ CLIENT)) as Partial<Pg> & { default?: Pg },
)

async function loadPg(): Promise<Pg> {
  try {
    const loaded = await loadClient()
    return { Pool: (loaded.Pool ?? loaded.default?.Pool) as Pg['Pool'] }
  } catch (error) {
    const summary = 'A store in PostgreSQL needs the package pg'
    throw new ToolError({ code: 'JOURNAL_OPEN_FAILED', summary, hint: 'Install it: npm install pg', details: {}, cause: error })
  }
}
