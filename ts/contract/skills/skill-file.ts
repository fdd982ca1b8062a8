import { constants } from 'node:fs'
import { open, realpath, stat, mkdir, rename, writeFile } from 'node:fs/promises'
import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathOfFile, readPart } from '../registry/opened-file.js'
import { loadLate } from '../../core/late-code.js'

const loadYaml = loadLate(() => import('yaml'))

const MAX_TEXT_BYTES = 1_000_000

/** The users whose files may instruct an agent; `undefined` for all users. */
export type TrustedOwners = ReadonlySet<number> | undefined

/**
 * The owners to trust in the directories around a workspace, which may belong to anyone, as `/tmp` does: root, the user of
 * this process, and the owners of the workspace.
 */
export async function ownersOf(roots: readonly string[]): Promise<TrustedOwners> {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  const ofRoots = await Promise.all(roots.map(async (root) => (await stat(root)).uid))
  return new Set([0, own, ...ofRoots])
}

/**
 * Reads a file whose path has no links. The file is opened first and checked afterwards, so that a file swapped in
 * meanwhile is not read.
 *
 * @param path Absolute and without links.
 * @throws {Error} with a message for the user, if there is no such file.
 */
export async function readPlainFile(path: string, owners?: TrustedOwners): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new Error('it is no file')
    if (owners?.has(stats.uid) === false) throw new Error('it belongs to another user')
    if (stats.size > MAX_TEXT_BYTES) throw new Error(`it has ${stats.size} bytes, and ${MAX_TEXT_BYTES} are the most`)
    if ((await pathOfFile(file, path)) !== path) throw new Error('a link leads to it')
    // One more byte detects a file that grows while it is read.
    const bytes = await readPart(file, 0, stats.size + 1)
    return decodeText(bytes.subarray(0, stats.size))
  } finally {
    await file.close()
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('it is not UTF-8')
  }
}

const MAX_FRONTMATTER = 16_384
/** The maximum length of a description, which goes into prompts. */
const MAX_DESCRIPTION = 1_024

const frontmatter = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|$)/u

/**
 * The name and the description of a `SKILL.md`, and the text after its frontmatter.
 *
 * @throws {Error} with a message for the user, for an invalid skill.
 */
export async function parseSkill(text: string) {
  const match = frontmatter.exec(text)
  if (match === null) throw new Error('it has no frontmatter between two lines of ---')
  const [whole, header = ''] = match
  if (header.length > MAX_FRONTMATTER) throw new Error('its frontmatter is too long')
  const { name, description } = await parseHeader(header)
  if (typeof name !== 'string' || name.length > 64 || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/u.test(name)) {
    throw new Error('its name must be lower-case words with hyphens between them, at most 64 characters')
  }
  if (typeof description !== 'string' || description.trim() === '') throw new Error('it has no description')
  const line = description.trim().replace(/\s+/gu, ' ')
  if (line.length > MAX_DESCRIPTION) throw new Error(`its description is longer than ${MAX_DESCRIPTION} characters`)
  return { name, description: line, body: text.slice(whole.length).trim() }
}

async function parseHeader(header: string): Promise<Record<string, unknown>> {
  const { parse } = await loadYaml()
  let value: unknown
  try {
    value = parse(header, { maxAliasCount: 16, logLevel: 'error', customTags: [] })
  } catch (error) {
    throw new Error(`its frontmatter is no YAML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'unknown'}`, {
      cause: error,
    })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('its frontmatter has no fields')
  return value as Record<string, unknown>
}

const FETCH_MS = 10_000

/** Reads a remote skill from the cache, or else fetches it. @throws {Error} in words. */
export async function readRemoteSkill(url: string, userData: string | undefined): Promise<string> {
  if (userData === undefined) return fetchText(url)
  const directory = join(await realpath(userData), 'skills')
  const path = join(directory, `${createHash('sha256').update(url).digest('hex')}.md`)
  try {
    return await readPlainFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const text = await fetchText(url)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const fresh = `${path}.${randomUUID()}`
  await writeFile(fresh, text, { flag: 'wx', mode: 0o600 })
  await rename(fresh, path)
  return text
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'error', credentials: 'omit', signal: AbortSignal.timeout(FETCH_MS) }).catch(
    (cause: unknown) => {
      throw new Error('it cannot be fetched', { cause })
    },
  )
  if (!response.ok) throw new Error(`the server answers ${response.status}`)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > MAX_TEXT_BYTES) throw new Error(`it has more than ${MAX_TEXT_BYTES} bytes`)
    parts.push(part)
  }
  return decodeText(Buffer.concat(parts))
}
