// What the documents of the AI SDK promise of a sandbox session, over ours and over the SDK's own in memory.
import { createJustBashSandbox } from '@ai-sdk/sandbox-just-bash'
import { createSandboxSession, type SandboxSession } from 'toolwright/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'
import { failuresOfJustBash } from './failures-of-just-bash.ts'
import { promisesOfEntries } from './promises/entries.ts'
import { promisesOfFiles } from './promises/files.ts'
import type { Promises, Subject } from './promises/promise.ts'
import { promisesOfRun } from './promises/run.ts'
import { promisesOfSpawn } from './promises/spawn.ts'

const promises: Promises = { ...promisesOfRun, ...promisesOfSpawn, ...promisesOfFiles, ...promisesOfEntries }

async function ours(home: 'private' | 'none'): Promise<Subject> {
  const fixture = makeSandbox()
  const session = createSandboxSession({ rootDir: fixture.root, home })
  onTestFinished(() => session.close())
  // While a process runs, `/tmp` stays. Without one, a store that another test opens begins an empty one.
  await session.spawn({ command: 'exec sleep 300' })
  return { session, base: fixture.root }
}

async function justBash(): Promise<Subject> {
  const session = await createJustBashSandbox().createSession()
  onTestFinished(async () => session.destroy())
  // Cast, because what it implements is an older interface.
  return { session: session as unknown as SandboxSession, base: session.defaultWorkingDirectory }
}

/** Promises that are not kept do not answer, too. */
const MAX_MS = 15_000

async function isKept(check: (subject: Subject) => Promise<void>, make: () => Promise<Subject>): Promise<true | Error> {
  const late = Promise.withResolvers<Error>()
  const timer = setTimeout(() => late.resolve(new Error(`no answer within ${MAX_MS} ms`)), MAX_MS)
  const subject = await make()
  const checked = check(subject).then(
    () => true as const,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  try {
    return await Promise.race([checked, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

test('there are at least 60 promises', () => {
  expect(Object.keys(promises).length).toBeGreaterThanOrEqual(60)
})

describe.each([
  ['with the home directory of the user', 'none'],
  ['with a private home directory', 'private'],
] as const)('ours, %s, keeps', (_, home) => {
  test.each(Object.entries(promises))('%s', { timeout: 2 * MAX_MS }, async (_name, check) => {
    const kept = await isKept(check, () => ours(home))
    if (kept !== true) throw kept
  })
})

describe('@ai-sdk/sandbox-just-bash', () => {
  test('fails only promises that there are', () => {
    expect([...failuresOfJustBash.keys()].filter((name) => !(name in promises))).toEqual([])
  })

  test.each(Object.entries(promises))('%s', { timeout: 2 * MAX_MS }, async (name, check) => {
    const kept = await isKept(check, justBash)
    if (kept !== true && !failuresOfJustBash.has(name)) throw kept
    expect(kept === true, 'a promise that was not kept before, or the other way round: change the table').toBe(
      !failuresOfJustBash.has(name),
    )
  })
})
