// What rows have shown, so that a run that was ended goes on where it stopped, and nothing runs twice for the same inputs.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache } from './cache.mjs'

/**
 * What `run` returns, with its date and how long it took; or what it has returned for the same inputs.
 *
 * A row that failed runs again, unless it is judged otherwise by now.
 */
export async function remembered(name, inputs, { isFresh, isGood, run }) {
  const [file, key] = [fileOf(name), keyOf(inputs)]
  const kept = isFresh ? undefined : recalled(name, inputs)
  if (kept !== undefined && isGood(kept.result)) return kept
  const start = performance.now()
  const result = await run()
  const row = { key, date: new Date().toISOString().slice(0, 10), seconds: Math.round((performance.now() - start) / 1000), result }
  mkdirSync(join(cache, 'rows'), { recursive: true })
  writeFileSync(file, JSON.stringify(row))
  return row
}

export const hasShown = (name) => existsSync(fileOf(name))

/** What a row has shown for these inputs, if it has. */
export function recalled(name, inputs) {
  if (!existsSync(fileOf(name))) return undefined
  const kept = JSON.parse(readFileSync(fileOf(name), 'utf8'))
  return kept.key === keyOf(inputs) ? { ...kept, isKept: true } : undefined
}

const fileOf = (name) => join(cache, 'rows', `${name.replaceAll(/[^\w.-]+/gu, '-')}.json`)
const keyOf = (inputs) => createHash('sha256').update(inputs.join('\0')).digest('hex')
