/** Questions to a language server about a project: diagnostics, definition, references, symbols, hover. */
import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nearPath } from '../core/near-paths.js'
import { invalid } from '../core/options.js'
import { printable } from '../core/printable.js'
import { problemLine } from './problems.js'
import type { ServerSession } from './server-session.js'

/** How long an answer is waited for, in milliseconds. */
export const ASK_MS = 30_000

/** What the tool `lsp` does, for a model. */
export const lspDescription =
  'Ask the language server of a file. diagnostics: its problems; symbols: its outline; definition, references and hover: of the symbol ' +
  'whose text is given, on line if it is there several times. Results are lines path:line: text.'

export const lspActions = ['diagnostics', 'definition', 'references', 'symbols', 'hover'] as const

/** What is asked. */
export type LspAction = (typeof lspActions)[number]

/** A question about a file. */
export interface LspQuery {
  action: LspAction
  /** The absolute path of the file. */
  path: string
  /** The line, from 1, that the symbol is on. @default the first line that has it */
  line?: number | undefined
  /** The text of the symbol. Needed for definition, references and hover. */
  symbol?: string | undefined
}

/** What a question needs of the tools. */
export interface QueryHost {
  rootDir: string
  read(path: string): Promise<string | undefined>
  /** Whether lines of other files are shown with their text. Otherwise they have a place alone. @default true */
  showsOthers?: boolean | undefined
}

/** The most lines of an answer. */
const MAX_LINES = 200
const MAX_HOVER = 4_000

/**
 * Asks a server.
 *
 * @returns lines as `grep` prints them, and a note on what they leave out.
 * @throws {ToolError} INVALID_INPUT for a symbol that is not there.
 */
export async function askServer(session: ServerSession, query: LspQuery, host: QueryHost, signal: AbortSignal): Promise<string> {
  const text = await host.read(query.path)
  if (text === undefined) throw await unreadable(query.path, host)
  session.setText(query.path, text)
  const textDocument = { uri: pathToFileURL(query.path).href }
  const shown = relative(host.rootDir, query.path)
  if (query.action === 'diagnostics') {
    const problems = await session.problems(query.path, signal)
    return lines(
      problems.map((problem) => problemLine(shown, problem)),
      '(No problems.)',
    )
  }
  if (query.action === 'symbols') {
    const symbols = await session.ask('textDocument/documentSymbol', { textDocument }, signal)
    return lines(symbolLines(symbols, shown), '(No symbols.)')
  }
  const position = positionOf(text, query, shown)
  if (query.action === 'hover') {
    const hover = await session.ask<{ contents?: unknown } | null>('textDocument/hover', { textDocument, position }, signal)
    const said = hoverText(hover?.contents).trim()
    return said === '' ? `(Nothing is known of ${query.symbol}.)` : said.slice(0, MAX_HOVER)
  }
  const isOfAll = query.action === 'references'
  const method = isOfAll ? 'textDocument/references' : 'textDocument/definition'
  const found = await session.ask(method, { textDocument, position, ...(isOfAll && { context: { includeDeclaration: true } }) }, signal)
  return lines(await locationLines(found, query.path, host), isOfAll ? '(No references.)' : '(No definition was found.)')
}

/** Where the symbol is: the first place on its line, or in the file, where it stands as a whole word. */
function positionOf(text: string, { action, line, symbol }: LspQuery, shown: string): { line: number; character: number } {
  if (symbol === undefined || symbol === '')
    throw invalid(`symbol is missing: ${action} needs the text of the symbol, and line if it is in the file several times.`)
  const all = text.replace(/\r?\n$/u, '').split(/\r?\n/u)
  const from = line === undefined ? 0 : line - 1
  const to = line === undefined ? all.length : line
  if (from >= all.length) throw invalid(`line is ${line}: ${shown} has ${all.length} lines.`)
  for (let index = from; index < to; index += 1) {
    const character = wordIn(all[index] ?? '', symbol)
    if (character !== -1) return { line: index, character }
  }
  const others = all.flatMap((each, index) => (wordIn(each, symbol) === -1 ? [] : index + 1)).slice(0, 5)
  const elsewhere = others.length === 0 ? inOtherLetters(all, symbol) : `It is on line ${others.join(', ')}.`
  throw invalid(
    `symbol: ${JSON.stringify(symbol)} is not ${line === undefined ? `in ${shown}` : `on line ${line} of ${shown}`}. ${elsewhere}`,
  )
}

/** What may have been meant by a symbol that is not there. */
function inOtherLetters(text: readonly string[], symbol: string): string {
  const wanted = symbol.toLowerCase()
  for (const [index, line] of text.entries()) {
    const word = line.match(/[\p{L}\p{N}_$]+/gu)?.find((one) => one.toLowerCase() === wanted)
    if (word !== undefined) return `Did you mean ${JSON.stringify(word)}, on line ${index + 1}?`
  }
  return 'The file does not have it; find it with grep.'
}

async function unreadable(path: string, { rootDir }: QueryHost): Promise<Error> {
  const shown = relative(rootDir, path)
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return invalid(`path: ${shown} is no text file that can be read.`)
  const near = await nearPath(rootDir, shown, 'file')
  return invalid(`path: there is no file ${shown}.${near === undefined ? '' : ` Did you mean ${near}?`}`)
}

function wordIn(line: string, symbol: string): number {
  for (let at = line.indexOf(symbol); at !== -1; at = line.indexOf(symbol, at + 1)) {
    const isBefore = /[\p{L}\p{N}_$]/u.test(line[at - 1] ?? '')
    const isAfter = /[\p{L}\p{N}_$]/u.test(line[at + symbol.length] ?? '')
    if (!isBefore && !isAfter) return at
  }
  return -1
}

/** Places as lines, with the text that is there. */
async function locationLines(found: unknown, own: string, { rootDir, read, showsOthers = true }: QueryHost): Promise<string[]> {
  const places = (Array.isArray(found) ? found : [found]).flatMap((one) => placeOf(one as Record<string, unknown> | null) ?? [])
  const texts = new Map<string, string[]>()
  for (const { path } of places.slice(0, MAX_LINES)) {
    if (texts.has(path) || relative(rootDir, path).startsWith('..') || (!showsOthers && path !== own)) continue
    // eslint-disable-next-line no-await-in-loop -- each file once
    texts.set(path, (await read(path))?.split(/\r?\n/u) ?? [])
  }
  const all = places.map(({ path, line }) => {
    const name = relative(rootDir, path)
    const text = texts.get(path)?.[line]
    return `${name.startsWith('..') ? path : name}:${line + 1}:${text === undefined ? '' : ` ${text.trim().slice(0, 200)}`}`
  })
  return [...new Set(all)]
}

function placeOf(one: Record<string, unknown> | null): { path: string; line: number } | undefined {
  const uri = one?.['uri'] ?? one?.['targetUri']
  const range = (one?.['range'] ?? one?.['targetSelectionRange']) as { start?: { line?: unknown } } | undefined
  const line = range?.start?.line
  try {
    return typeof line === 'number' ? { path: fileURLToPath(String(uri)), line } : undefined
  } catch {
    return undefined
  }
}

const kinds =
  'file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum-member struct event operator type-parameter'.split(
    ' ',
  )

interface GivenSymbol {
  name?: unknown
  kind?: unknown
  range?: { start?: { line?: number } }
  location?: { range?: { start?: { line?: number } } }
  children?: unknown
}

function symbolLines(symbols: unknown, shown: string, depth = 0): string[] {
  if (!Array.isArray(symbols) || depth > 8) return []
  return (symbols as GivenSymbol[]).flatMap(({ name, kind, range, location, children }) => {
    const line = (range ?? location?.range)?.start?.line
    const own =
      typeof line === 'number' ? [`${shown}:${line + 1}: ${'  '.repeat(depth)}${kinds[Number(kind) - 1] ?? 'symbol'} ${String(name)}`] : []
    return [...own, ...symbolLines(children, shown, depth + 1)]
  })
}

function hoverText(contents: unknown): string {
  if (typeof contents === 'string') return contents
  if (Array.isArray(contents)) return contents.map(hoverText).join('\n')
  const value = (contents as { value?: unknown } | null | undefined)?.value
  return typeof value === 'string' ? value : ''
}

function lines(all: readonly string[], none: string): string {
  if (all.length === 0) return none
  const more = all.length - MAX_LINES
  const shown = all.slice(0, MAX_LINES).map(printable)
  return [...shown, ...(more > 0 ? [`(${more} more are left out.)`] : [])].join('\n')
}
