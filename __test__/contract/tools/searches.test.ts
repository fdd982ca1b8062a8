// `grep` and `glob` go through many files: each of them is judged, as `read` would judge it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PromptRequest, Rule, SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, noRules, openScene, openSession, rule } from '../scene.ts'

interface Searched {
  grep: string[]
  glob: string[]
}

/** The files that both searches of a directory show. */
async function searched(call: Awaited<ReturnType<typeof openScene>>['call'], path = '.'): Promise<Searched> {
  const found = dataOf<{ matches: { path: string }[] }>(await call('grep', { pattern: 'needle', path }))
  const named = dataOf<{ entries: string[] }>(await call('glob', { pattern: '**', path }))
  return { grep: found.matches.map((match) => match.path), glob: named.entries }
}

const only = (...paths: string[]): Searched => ({ grep: paths, glob: paths })

async function scene(permissions: Rule[], more: Partial<SessionOptions> = {}) {
  const fixture = makeSandbox()
  for (const path of ['a', 'docs/b', 'secret/c', 'secret/open/d']) fixture.put(path, 'needle\n')
  const session = await openSession(fixture, { ...manifest(permissions), ...more })
  return { ...fixture, session, call: session.call.bind(session) }
}

const yes = (asked: PromptRequest[]) => (request: PromptRequest) => {
  asked.push(request)
  return 'allow_once' as const
}

describe('R38 rules within a search', () => {
  test('R38 what a rule denies is passed over, with the exceptions of the manifest', async () => {
    const { call } = await scene([...allowAll, rule('fs.read secret/** deny'), rule('fs.read secret/open/** allow')])
    expect(await searched(call)).toEqual(only('a', 'docs/b', 'secret/open/d'))
  })

  test('R47 what would have to be asked for is passed over where nobody is asked', async () => {
    const { call } = await scene([...allowAll, rule('fs.read secret/** ask')], { headless: true })
    expect(failureOf(await call('read', { path: 'secret/c' })).code).toBe('permission_unattended')
    expect(await searched(call)).toEqual(only('a', 'docs/b'))
    expect(failureOf(await call('grep', { pattern: 'needle', path: 'secret' })).code).toBe('permission_unattended')
  })

  test('R38 nor does an allowed search show it where there is a user, who was not asked', async () => {
    const asked: PromptRequest[] = []
    const { call } = await scene([...allowAll, rule('fs.read secret/** ask')], { host: { prompt: yes(asked) } })
    expect(await searched(call)).toEqual(only('a', 'docs/b'))
    expect(asked).toEqual([])
    expect(await searched(call, 'secret')).toEqual(only('secret/c', 'secret/open/d'))
    expect(asked.map(({ tool }) => tool)).toEqual(['grep', 'glob'])
  })

  test('R38 who agrees to a search agrees to what it meets, but for what is denied', async () => {
    const { call } = await scene([rule('* ** ask'), rule('fs.read secret/** deny')], { host: { prompt: yes([]) } })
    expect(await searched(call)).toEqual(only('a', 'docs/b'))
  })

  test('R41 an "always" for a search holds for all that lies below', async () => {
    const asked: PromptRequest[] = []
    const prompt = (request: PromptRequest) => {
      asked.push(request)
      return 'allow_always' as const
    }
    const { call } = await scene([rule('fs.read ** ask'), rule('fs.read secret/** ask')], { host: { prompt } })
    for (let time = 0; time < 2; time += 1) {
      expect(await searched(call, 'secret')).toEqual(only('secret/c', 'secret/open/d'))
      expect(await searched(call, 'docs')).toEqual(only('docs/b'))
    }
    expect(asked).toHaveLength(4)
    expect(asked[0]?.rules).toEqual(['secret', 'secret/**'].map((pattern) => ({ permission: 'grep', pattern })))
  })
})

describe('R21 R64 searches of what the session keeps', () => {
  test('R64 its scratch directory is searched without a rule, unless the manifest denies it', async () => {
    const { session, call } = await openScene({ ...noRules, headless: true })
    const path = join(session.scratch, 'notes/a.txt')
    await call('write', { path, content: 'needle\n' })
    expect(await searched(call, session.scratch)).toEqual(only(path))
    expect(dataOf(await call('grep', { pattern: 'needle', path })).matches).toHaveLength(1)
    const { code, text } = failureOf(await call('glob', { pattern: '**', path }))
    expect([code, text]).toEqual(['not_a_directory', expect.stringContaining(path)])
    const closed = await openScene(manifest([rule('fs.read ** deny')]))
    await closed.call('write', { path: join(closed.session.scratch, 'a'), content: 'needle\n' })
    expect(failureOf(await closed.call('grep', { pattern: 'needle', path: closed.session.scratch })).code).toBe('permission_denied')
  })

  test('R21 so is an output that was too long', async () => {
    const { call } = await openScene()
    const { metadata } = await call('bash', { command: 'seq 100000' })
    const found = dataOf(await call('grep', { pattern: '^99999$', path: metadata.output_path }))
    expect(found.matches).toEqual([{ path: metadata.output_path, line: 99_999, text: '99999' }])
  })

  test('R21 R63 and none of another session, whatever the workspace is', async () => {
    const fixture = makeSandbox()
    const other = await openSession(fixture)
    await other.call('write', { path: join(other.scratch, 'a'), content: 'needle\n' })
    const base = join(other.scratch, '..', '..')
    const session = await openSession(fixture, { workspace: base })
    const call = session.call.bind(session)
    for (const path of ['.', other.scratch, join(other.scratch, 'a'), join(other.scratch, '..')]) {
      expect(failureOf(await call('grep', { pattern: 'needle', path })).code, path).toBe('capability_refused')
      expect(failureOf(await call('read', { path: join(other.scratch, 'a') })).code).toBe('capability_refused')
    }
    const above = await openSession(fixture, { workspace: join(base, '..') })
    const glob = `**/${base.slice(base.lastIndexOf('/') + 1)}/**`
    expect(
      dataOf(await above.call('glob', { pattern: glob })).entries.filter((path: string) => path.includes(other.id) || path.endsWith('/a')),
    ).toEqual([])
  })
})

describe('several roots', () => {
  async function twoRoots(permissions: Rule[], more: Partial<SessionOptions> = {}) {
    const fixture = makeSandbox()
    for (const path of ['one/a', 'two/b', 'two/secret/c']) fixture.put(path, 'needle\n')
    const session = await openSession(fixture, { workspace: [fixture.at('one'), fixture.at('two')], ...manifest(permissions), ...more })
    return { ...fixture, session, call: session.call.bind(session) }
  }
  const names = async (call: Awaited<ReturnType<typeof openScene>>['call'], args = {}): Promise<Searched> => {
    const found = dataOf<{ matches: { path: string }[] }>(await call('grep', { pattern: 'needle', ...args }))
    const named = dataOf<{ entries: string[] }>(await call('glob', { pattern: '**', ...args }))
    return { grep: found.matches.map((match) => match.path), glob: named.entries }
  }

  test('a search without a path looks in all of them', async () => {
    const { call, at, session } = await twoRoots(allowAll)
    expect(await names(call)).toEqual(only('a', at('two/b'), at('two/secret/c')))
    expect(await names(call, { path: '.' })).toEqual(only('a'))
    expect(dataOf(await call('grep', { pattern: 'needle' })).files_scanned).toBe(3)
    for (const tool of ['glob', 'grep'] as const) expect(session.tools[tool].description).toContain(at('two'))
  })

  test('what is closed of them is passed over, and one answer is for all', async () => {
    const { at } = await twoRoots(allowAll)
    expect(await names((await twoRoots([...allowAll, rule('fs.read **/secret/** deny')])).call)).toMatchObject({
      glob: ['a', expect.stringMatching(/two\/b$/u)],
    })
    const closed = await twoRoots([])
    const session = await openSession(closed, {
      workspace: [closed.at('one'), closed.at('two')],
      ...manifest([...allowAll, rule(`fs.read ${closed.at('two')} deny`), rule(`fs.read ${closed.at('two')}/** deny`)]),
    })
    expect(await names(session.call.bind(session))).toEqual(only('a'))
    const asked: PromptRequest[] = []
    const { call } = await twoRoots([rule('* ** ask'), rule('* /** ask')], { host: { prompt: yes(asked) } })
    expect((await names(call)).glob).toHaveLength(3)
    expect(asked.map(({ tool, subjects }) => `${tool} ${subjects.length}`)).toEqual(['grep 2', 'glob 2'])
    expect(at('one')).toBeDefined()
  })

  test('limits hold for all of them together, and the file has all', async () => {
    const fixture = makeSandbox()
    for (const path of ['one/a', 'two/b']) fixture.put(path, 'needle\n'.repeat(150))
    const session = await openSession(fixture, { workspace: [fixture.at('one'), fixture.at('two')] })
    const found = await session.call('grep', { pattern: 'needle' })
    expect(found).toMatchObject({ type: 'output', metadata: { truncated: true } })
    const { head, tail } = dataOf<{ head: string; tail: string }>(found)
    expect(head.split('\n')).toHaveLength(100)
    expect(tail.split('\n').every((line) => line.startsWith(fixture.at('two/b')))).toBe(true)
    const { output_path: all = '' } = found.metadata as { output_path?: string }
    expect(readFileSync(all, 'utf8').trimEnd().split('\n')).toHaveLength(300)
  })
})

describe('what was not searched', () => {
  test('is named: a file with a line that is too long', async () => {
    const fixture = makeSandbox()
    fixture.put('long', `${'a'.repeat(40_000_000)}\nneedle\n`)
    fixture.put('short', 'needle\n')
    const session = await openSession(fixture)
    const data = dataOf(await session.call('grep', { pattern: 'needle' }))
    expect(data.matches).toHaveLength(1)
    expect(data.not_searched).toEqual([expect.stringMatching(/^long: holds a line longer than 32 MiB/u)])
    expect(dataOf(await session.call('grep', { pattern: 'needle', path: 'long' })).not_searched).toHaveLength(1)
    expect(dataOf(await session.call('grep', { pattern: 'needle', path: 'short' }))).not.toHaveProperty('not_searched')
  })
})
