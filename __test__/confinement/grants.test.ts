import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type configureTools, createTools, readFileTool, runWithToolContext, type SandboxOptions, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { replacements } from '../support/replaced-directories.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

/** A place with a directory outside that holds a secret and a store. */
function place(): Sandbox {
  const fixture = makeSandbox()
  writeFileSync(join(fixture.outside, 'secret'), 'SECRET')
  mkdirSync(join(fixture.outside, '.ssh'))
  writeFileSync(join(fixture.outside, '.ssh', 'key'), 'SECRET')
  return fixture
}

function expectNothingOutside(fixture: Sandbox): void {
  for (const name of ['secret', '.ssh/key']) expect(readFileSync(join(fixture.outside, name), 'utf8')).toBe('SECRET')
  for (const name of ['planted', '.ssh/planted']) expect(existsSync(join(fixture.outside, name))).toBe(false)
}

const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

const kinds: Record<string, { name: string; sandbox?: (granted: string) => SandboxOptions }> = {
  'the root': { name: 'rootDir' },
  'a writable root': { name: 'sandbox.writableRoots[0]', sandbox: (granted) => ({ writableRoots: [granted] }) },
  'a readable directory': { name: 'sandbox.readable[0]', sandbox: (granted) => ({ readable: [granted] }) },
}
const cases = Object.entries(kinds).flatMap(([kind, how]) =>
  Object.keys(replacements).map((replacement) => ({ kind, replacement, ...how })),
)

/** Tools whose grant of that kind is the directory `granted` beside the root, or the root. */
function granting(fixture: Sandbox, { sandbox }: (typeof cases)[number]) {
  const granted = join(dirname(fixture.root), 'granted')
  mkdirSync(granted)
  writeFileSync(join(granted, 'file'), 'granted')
  const options = { networkGuard: 'off', env: { set: { HOME: fixture.outside } } } as const
  const tools =
    sandbox === undefined
      ? createTools({ ...options, rootDir: granted })
      : createTools({ ...options, rootDir: fixture.root, sandbox: sandbox(granted) })
  return { granted, tools }
}

describe.skipIf(process.platform !== 'linux')('a grant that was replaced by the host', () => {
  test.each(cases)('$kind by $replacement, before the first call', async (one) => {
    const fixture = place()
    const { granted, tools } = granting(fixture, one)
    renameSync(granted, `${granted}-moved`)
    replacements[one.replacement]?.(granted, fixture)
    const error = await refusal(tools.bash.execute(sh(`cat '${granted}'/*; echo x > '${granted}/planted'`)))
    expect(error).toMatchObject({ code: 'TOOL_ROOT_CHANGED', details: { grant: one.name } })
    expect(error.message).toContain(granted)
    expectNothingOutside(fixture)
  })

  test.each(cases)('$kind by $replacement, after one', async (one) => {
    const fixture = place()
    const { granted, tools } = granting(fixture, one)
    expect(await tools.bash.execute(sh(`cat '${granted}/file'`))).toBe('granted')
    renameSync(granted, `${granted}-moved`)
    replacements[one.replacement]?.(granted, fixture)
    const calls = [() => tools.bash.execute(sh(`cat '${granted}'/*; echo x > '${granted}/planted'`))]
    if (one.sandbox === undefined) {
      calls.push(
        () => tools.read.execute({ path: 'secret' }),
        () => tools.write.execute({ path: 'planted', content: 'x' }),
        () => tools.edit.execute({ path: 'secret', patch: '@@ -1 +1 @@\n-SECRET\n+x\n' }),
        () => tools.grep.execute({ pattern: 'SECRET' }),
      )
    }
    for (const call of calls) expect(await refusal(call())).toMatchObject({ code: 'TOOL_ROOT_CHANGED', details: { grant: one.name } })
    expectNothingOutside(fixture)
    // The directory itself is as good as ever.
    rmSync(granted, { recursive: true, force: true })
    renameSync(`${granted}-moved`, granted)
    expect(await tools.bash.execute(sh(`cat '${granted}/file'`))).toBe('granted')
  })
})

describe.skipIf(process.platform !== 'linux')('a command', () => {
  const moves = (path: string, fixture: Sandbox): string[] => [
    `mv '${path}' '${path}-moved' && ln -s '${fixture.outside}' '${path}'`,
    `rm -rf '${path}' && ln -s '${fixture.outside}/.ssh' '${path}'`,
    `mv '${path}' '${path}-moved' && mkdir '${path}'`,
    `rm -rf '${path}' && echo x > '${path}'`,
    `rm -rf '${path}'`,
  ]

  const nested: Record<string, (fixture: Sandbox) => { options: Parameters<typeof configureTools>[0]; path: string }> = {
    'a writable root in the root': (fixture) => ({
      options: { rootDir: fixture.root, sandbox: { writableRoots: ['inner'] } },
      path: fixture.at('inner'),
    }),
    'a writable root in another': (fixture) => ({
      options: { rootDir: fixture.at('work'), sandbox: { writableRoots: [fixture.at('.'), fixture.at('inner')] } },
      path: fixture.at('inner'),
    }),
    'the root in a writable root': (fixture) => ({
      options: { rootDir: fixture.at('inner'), sandbox: { writableRoots: [fixture.root], denyWrite: [] } },
      path: fixture.at('inner'),
    }),
    'a readable directory in the root': (fixture) => ({
      options: { rootDir: fixture.root, sandbox: { readable: ['inner'] } },
      path: fixture.at('inner'),
    }),
  }

  test.each(Object.keys(nested))('cannot put anything in the place of %s', async (kind) => {
    for (const number of [0, 1, 2, 3, 4]) {
      const fixture = place()
      fixture.put('inner/file', 'inside')
      mkdirSync(fixture.at('work'))
      const { options, path } = nested[kind]?.(fixture) ?? { options: {}, path: '' }
      const { bash, write } = createTools({ networkGuard: 'off', ...options })
      const error = await refusal(bash.execute(sh(moves(path, fixture)[number] ?? '')))
      expect(error.code).toBe('TOOL_COMMAND_FAILED')
      await bash.execute(sh(`echo x > '${path}/planted'`))
      await write.execute({ path: 'other', content: 'x' })
      expect(existsSync(join(path, 'planted'))).toBe(true)
      expectNothingOutside(fixture)
    }
  })
})

describe('a link in a writable directory does not choose what is granted', () => {
  const leading: Record<string, (fixture: Sandbox) => Parameters<typeof configureTools>[0]> = {
    'sandbox.readable': (fixture) => ({ rootDir: fixture.root, sandbox: { readable: ['way'] } }),
    'sandbox.writableRoots': (fixture) => ({ rootDir: fixture.root, sandbox: { writableRoots: ['way'] } }),
    rootDir: (fixture) => ({ rootDir: fixture.at('way'), sandbox: { writableRoots: [fixture.root] } }),
  }

  test.skipIf(process.platform !== 'linux').each(Object.keys(leading))('%s', async (option) => {
    const fixture = place()
    symlinkSync(join(fixture.outside, '.ssh'), fixture.at('way'))
    const { bash } = createTools({ networkGuard: 'off', ...leading[option]?.(fixture) })
    const error = await refusal(bash.execute(sh('true')))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { option } })
    expect(error.message).toMatch(/leads through a link in .*name that directory itself/u)
  })

  test.skipIf(process.platform !== 'linux')('what a closed name led to stays closed when the name is made anew', async () => {
    const fixture = place()
    symlinkSync(fixture.outside, fixture.at('way'))
    const { bash } = createTools({ rootDir: fixture.root, networkGuard: 'off', sandbox: { denyRead: ['way'] } })
    const look = sh(`cat '${fixture.outside}/secret'`)
    expect((await refusal(bash.execute(look))).code).toBe('TOOL_COMMAND_FAILED')
    await bash.execute(sh('rm way; mkdir way'))
    expect((await refusal(bash.execute(look))).code).toBe('TOOL_COMMAND_FAILED')
  })
})

describe('roots that a user would have', () => {
  test.skipIf(process.platform !== 'linux').each(['/tmp', '/var/tmp', '/dev/shm'])('beside each other in %s', async (base) => {
    const parent = mkdtempSync(join(base, 'toolwright-grants-'))
    try {
      const [a, b, c] = ['a', 'b', 'c/d'].map((name) => join(parent, name)) as [string, string, string]
      for (const path of [a, b, c]) mkdirSync(path, { recursive: true })
      const { bash } = createTools({ rootDir: a, networkGuard: 'off', sandbox: { writableRoots: [b, c] } })
      await bash.execute(sh(`for d in '${a}' '${b}' '${c}'; do echo word > $d/file || exit 1; done`))
      for (const path of [a, b, c]) expect(readFileSync(join(path, 'file'), 'utf8')).toBe('word\n')
      expect((await refusal(bash.execute(sh(`echo x > '${parent}/file'`)))).code).toBe('TOOL_COMMAND_FAILED')
    } finally {
      rmSync(parent, { recursive: true, force: true })
    }
  })

  test('a link that names the root: paths in its spelling and in that of the directory', async () => {
    const fixture = place()
    fixture.put('a.txt', 'text')
    const alias = join(dirname(fixture.root), 'alias')
    symlinkSync(fixture.root, alias)
    const { bash, read, write } = createTools({ rootDir: alias, networkGuard: 'off' })
    for (const path of ['a.txt', join(alias, 'a.txt'), fixture.at('a.txt')]) expect(await read.execute({ path })).toBe('text')
    await write.execute({ path: join(alias, 'b.txt'), content: 'b' })
    expect(await bash.execute(sh('cat b.txt'))).toBe('b')
    rmSync(alias)
    symlinkSync(fixture.outside, alias)
    const calls = [
      () => read.execute({ path: 'a.txt' }),
      () => bash.execute(sh('true')),
      () => write.execute({ path: 'planted', content: 'x' }),
    ]
    for (const call of calls) expect((await refusal(call())).code).toBe('TOOL_ROOT_CHANGED')
    expectNothingOutside(fixture)
  })

  test('one that is not there makes no tools, and one that is made anew is another one', async () => {
    const fixture = place()
    expect(() => createTools({ rootDir: fixture.at('later') })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    mkdirSync(fixture.at('later'))
    const { read, write } = createTools({ rootDir: fixture.at('later') })
    await write.execute({ path: 'f', content: 'x' })
    expect(await read.execute({ path: 'f' })).toBe('x')
    rmSync(fixture.at('later'), { recursive: true })
    mkdirSync(fixture.at('later'))
    expect((await refusal(read.execute({ path: 'f' }))).code).toBe('TOOL_ROOT_CHANGED')
    // Tools that are made anew are granted what is there now.
    await createTools({ rootDir: fixture.at('later') }).write.execute({ path: 'f', content: 'x' })
  })

  test('a context keeps its root, and so does a context within it', async () => {
    const fixture = place()
    fixture.put('ws/f', 'x')
    const rootDir = fixture.at('ws')
    await runWithToolContext({ rootDir }, async () => {
      renameSync(rootDir, `${rootDir}-moved`)
      symlinkSync(fixture.outside, rootDir)
      expect((await refusal(readFileTool('secret'))).code).toBe('TOOL_ROOT_CHANGED')
      await runWithToolContext({ rootDir, runId: 'inner' }, async () => {
        expect((await refusal(writeFileTool('planted', 'x'))).code).toBe('TOOL_ROOT_CHANGED')
      })
    })
    expectNothingOutside(fixture)
    // A context of its own is granted what is there when it begins.
    expect(await runWithToolContext({ rootDir }, () => readFileTool('secret'))).toBe('SECRET')
  })
})
