import { createHash, randomUUID } from 'node:crypto'
import { mkdir, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_TEXT_BYTES, readPlainFile } from './skill-file.js'

/** How long a remote skill may take to arrive. */
const FETCH_MS = 10_000

/**
 * The text of a remote skill: as it was kept, else as it is fetched now.
 *
 * @throws {Error} in words.
 */
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
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
}
