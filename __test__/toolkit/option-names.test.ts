import { createTools, configureTools, openJournal, runTask, sandboxReport } from 'toolwright'
import { createSession } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { attempt, refused } from '../support/refused.ts'

const manifest = { name: 'test' }

describe('a misspelt option is refused, with the names there are: it would leave open what it was to close', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['createTools', () => createTools({ rootdir: '/' } as never), /^rootdir is no option; there are rootDir, .*streamOutput/u],
    ['configureTools', () => configureTools({ root: '/' } as never), /^root is no option; there are rootDir, .*allowInPlace\.$/u],
    ['configureTools takes no journal', () => configureTools({ journal: {} } as never), /^journal is no option/u],
    ['env', () => createTools({ env: { pass: ['A'] } } as never), /^env\.pass is no option; there are allow, set\.$/u],
    ['sandboxReport', () => sandboxReport({ sandbx: {} } as never), /^sandbx is no option/u],
    ['openJournal', () => openJournal('memory:', { redactkeys: true } as never), /^redactkeys is no option; there are .*redactKeys/u],
    [
      'a manifest',
      () => createSession({ workspace: '.', manifest: { ...manifest, permission: [{ action: 'deny', capability: 'fs.write' }] } } as never),
      /^manifest\.permission is no option; there are .*permissions/u,
    ],
    [
      'createSession',
      () => createSession({ workspace: '.', manifest, watchDog: () => undefined } as never),
      /^watchDog is no option; there are .*watchdog/u,
    ],
    [
      'createSession, a watchdog of the host',
      () => createSession({ workspace: '.', manifest, host: { watchdog: () => ({ decision: 'deny' }) } } as never),
      /^watchdog is an option of the session, and not of its host/u,
    ],
  ])('%s', async (_, work, summary) => {
    expect(await attempt(work)).toEqual(refused(summary))
  })

  test('runTask', async () => {
    await using journal = await openJournal('memory:')
    const options = { journal, runId: 'r', nodeId: 'n', rootdir: '/' }
    expect(await attempt(() => runTask(options, () => 1))).toEqual(refused(/^rootdir is no option; there are .*rootDir/u))
  })

  test.each<[string, () => unknown]>([
    ['createTools, of text', () => createTools('./project' as never)],
    ['configureTools, of nothing', () => configureTools(undefined as never)],
    ['openJournal', () => openJournal('memory:', 'full' as never)],
    ['runTask', () => runTask(undefined as never, () => 1)],
    ['createSession', () => createSession(undefined as never)],
  ])('options that are no object: %s', async (_, work) => {
    expect(await attempt(work)).toEqual(refused(/^The options must be an object\.$/u))
  })

  test('a host may be an object with methods and a state of its own', async () => {
    class Terminal {
      id = 'terminal'
      tools: string[] = []
      async prompt() {
        return { decision: 'reject_once' as const }
      }
    }
    await using session = await createSession({ workspace: '.', manifest, host: new Terminal() })
    expect(session.headless).toBe(false)
  })
})
