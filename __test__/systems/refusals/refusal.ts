/** Failures of one kind, each in the words of another program. */
export interface RefusalClass {
  name: string
  /** What a note about it says. */
  says: RegExp
  /** A program, the script of a shell, and what else it needs. PLACE, HOST, PORT and others are replaced. */
  rows: Row[]
  /** What the host asks for besides. */
  options?: Options
  /** Whether the command itself prints it. */
  isPrinted?: boolean
  /** Whether the host could do it, so that it is the sandbox that refuses. @default true */
  isRefused?: boolean
  /** Whether sessions have it too. @default true */
  inSessions?: boolean
}

export type Row = readonly [program: string, script: string, ...needs: string[]]

/** Options of `createTools`. */
export interface Options {
  limits?: { processes?: number; memoryBytes?: number; cpuSeconds?: number; fileSizeBytes?: number }
  timeoutMs?: number
  outputBytes?: number
  hosts?: string[]
}

/** A one-line program of each language. */
export const python = (code: string): string => `python3 -c ${quoted(code)}`
export const node = (code: string): string => `node -e ${quoted(code)}`
export const ruby = (code: string): string => `ruby -e ${quoted(code)}`
export const perl = (code: string): string => `perl -e ${quoted(code)}`
export const php = (code: string): string => `php -r ${quoted(code)}`

export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The same rows for each of several values of a word. */
export const forEach = (rows: Row[], word: string, values: readonly string[]): Row[] =>
  values.flatMap((value) =>
    rows.map(([program, script, ...needs]): Row => [`${program} ${value}`, script.replaceAll(word, value), ...needs]),
  )
