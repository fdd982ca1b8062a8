import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, openSession } from '../scene.ts'

/** A store that a variable names, so that no file is put into anybody's home directory. */
const VARIABLE = 'AZURE_CONFIG_DIR'

describe('a credential store below the workspace', () => {
  let place: string
  const before = process.env[VARIABLE]
  beforeAll(() => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-stores-')))
    mkdirSync(join(place, 'store'))
    writeFileSync(join(place, 'store/token'), 'secret\n')
    writeFileSync(join(place, 'beside'), 'no secret\n')
    process.env[VARIABLE] = join(place, 'store')
  })
  afterAll(() => {
    if (before === undefined) delete process.env[VARIABLE]
    else process.env[VARIABLE] = before
    rmSync(place, { recursive: true, force: true })
  })

  const open = (read?: string[]) => {
    const requires = read === undefined ? {} : { requires: { fs: { read } } }
    return openSession({ ...makeSandbox(), root: place }, { manifest: { name: 'test', permissions: allowAll, ...requires } })
  }

  // Bun does not pass changes of its environment on to the process.
  test.skipIf(process.versions['bun'] !== undefined)('is closed to the tools of a session, as it is to its commands', async () => {
    const session = await open()
    expect(await session.call('read', { path: 'beside' })).toMatchObject({ type: 'output' })
    for (const [id, args] of [
      ['read', { path: 'store/token' }],
      ['write', { path: 'store/new', content: 'x' }],
      ['edit', { path: 'store/token', old_string: 'secret', new_string: 'x' }],
    ] as const) {
      expect(await session.call(id, args), id).toMatchObject({ type: 'error', metadata: { code: 'capability_refused' } })
    }
    for (const [id, args] of [
      ['grep', { pattern: 'secret' }],
      ['glob', { pattern: '**' }],
      ['bash', { command: 'cat store/token' }],
    ] as const) {
      const answer = JSON.stringify(await session.call(id, args))
      expect(answer, id).not.toMatch(/store\/token.*secret|:secret|"secret\\n"/u)
    }
  })

  test.skipIf(process.versions['bun'] !== undefined)('is opened by a pattern that names it', async () => {
    const session = await open([`${place}/store/**`])
    expect(await session.call('read', { path: 'store/token' })).toMatchObject({ type: 'output' })
  })
})
