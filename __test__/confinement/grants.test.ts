import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type configureTools, createTools, readFileTool, runWithToolContext, type SandboxOptions, writeFileTool } from 'toolwright'
import { describe, expect, test } from 'vitest'
import { refusal } from '../support/refusal.ts'
import { replacements } from '../support/replaced-directories.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

/** A place with a directory outside that holds a secret and a store. */
function place(): Sandbox {
  const box = makeSandbox()
  writeFileSync(join(box.outside, 'secret'), 'SECRET')
  mkdirSync(join(box.outside, '.ssh'))
  writeFileSync(join(box.outside, '.ssh', 'key'), 'SECRET')
  return box
}

function expectNothingOutside(box: Sandbox): void {
  for (const name of ['secret', '.ssh/key']) expect(readFileSync(join(box.outside, name), 'utf8')).toBe('SECRET')
  for (const name of ['planted', '.ssh/planted']) expect(existsSync(join(box.outside, name))).toBe(false)
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
function granting(box: Sandbox, { sandbox }: (typeof cases)[number]) {
  const granted = join(dirname(box.root), 'granted')
  mkdirSync(granted)
  writeFileSync(join(granted, 'file'), 'granted')
  const options = { networkGuard: 'off', env: { set: { HOME: box.outside } } } as const
  const tools =
    sandbox === undefined
      ? createTools({ ...options, rootDir: granted })
      : createTools({ ...options, rootDir: box.root, sandbox: sandbox(granted) })
  return { granted, tools }
}

describe.skipIf(process.platform !== 'linux')('a grant that was replaced by the host', () => {
  test.each(cases)('$kind by $replacement, before the first call', async (one) => {
    const box = place()
    const { granted, tools } = granting(box, one)
    renameSync(granted, `${granted}-moved`)
    replacements[one.replacement]?.(granted, box)
    const error = await refusal(tools.bash.execute(sh(`cat '${granted}'/*; echo x > '${granted}/planted'`)))
    expect(error).toMatchObject({ code: 'TOOL_ROOT_CHANGED', details: { grant: one.name } })
    expect(error.message).toContain(granted)
    expectNothingOutside(box)
  })

  test.each(cases)('$kind by $replacement, after one', async (one) => {
    const box = place()
    const { granted, tools } = granting(box, one)
    expect(await tools.bash.execute(sh(`cat '${granted}/file'`))).toBe('granted')
    renameSync(granted, `${granted}-moved`)
    replacements[one.replacement]?.(granted, box)
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
    expectNothingOutside(box)
    // The directory itself is as good as ever.
    rmSync(granted, { recursive: true, force: true })
    renameSync(`${granted}-moved`, granted)
    expect(await tools.bash.execute(sh(`cat '${granted}/file'`))).toBe('granted')
  })
})

describe.skipIf(process.platform !== 'linux')('a command', () => {
  const moves = (path: string, box: Sandbox): string[] => [
    `mv '${path}' '${path}-moved' && ln -s '${box.outside}' '${path}'`,
    `rm -rf '${path}' && ln -s '${box.outside}/.ssh' '${path}'`,
    `mv '${path}' '${path}-moved' && mkdir '${path}'`,
    `rm -rf '${path}' && echo x > '${path}'`,
    `rm -rf '${path}'`,
  ]

  const nested: Record<string, (box: Sandbox) => { options: Parameters<typeof configureTools>[0]; path: string }> = {
    'a writable root in the root': (box) => ({
      options: { rootDir: box.root, sandbox: { writableRoots: ['inner'] } },
      path: box.at('inner'),
    }),
    'a writable root in another': (box) => ({
      options: { rootDir: box.at('work'), sandbox: { writableRoots: [box.at('.'), box.at('inner')] } },
      path: box.at('inner'),
    }),
    'the root in a writable root': (box) => ({
      options: { rootDir: box.at('inner'), sandbox: { writableRoots: [box.root], denyWrite: [] } },
      path: box.at('inner'),
    }),
    'a readable directory in the root': (box) => ({
      options: { rootDir: box.root, sandbox: { readable: ['inner'] } },
      path: box.at('inner'),
    }),
  }

  test.each(Object.keys(nested))('cannot put anything in the place of %s', async (kind) => {
    for (const number of [0, 1, 2, 3, 4]) {
      const box = place()
      box.put('inner/file', 'inside')
      mkdirSync(box.at('work'))
      const { options, path } = nested[kind]?.(box) ?? { options: {}, path: '' }
      const { bash, write } = createTools({ networkGuard: 'off', ...options })
      const error = await refusal(bash.execute(sh(moves(path, box)[number] ?? '')))
      expect(error.code).toBe('TOOL_COMMAND_FAILED')
      await bash.execute(sh(`echo x > '${path}/planted'`))
      await write.execute({ path: 'other', content: 'x' })
      expect(existsSync(join(path, 'planted'))).toBe(true)
      expectNothingOutside(box)
    }
  })
})

describe('a link in a writable directory does not choose what is granted', () => {
  const leading: Record<string, (box: Sandbox) => Parameters<typeof configureTools>[0]> = {
    'sandbox.readable': (box) => ({ rootDir: box.root, sandbox: { readable: ['way'] } }),
    'sandbox.writableRoots': (box) => ({ rootDir: box.root, sandbox: { writableRoots: ['way'] } }),
    rootDir: (box) => ({ rootDir: box.at('way'), sandbox: { writableRoots: [box.root] } }),
  }

  test.skipIf(process.platform !== 'linux').each(Object.keys(leading))('%s', async (option) => {
    const box = place()
    symlinkSync(join(box.outside, '.ssh'), box.at('way'))
    const { bash } = createTools({ networkGuard: 'off', ...leading[option]?.(box) })
    const error = await refusal(bash.execute(sh('true')))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', details: { option } })
    expect(error.message).toMatch(/leads through a link in .*name that directory itself/u)
  })

  test.skipIf(process.platform !== 'linux')('what a closed name led to stays closed when the name is made anew', async () => {
    const box = place()
    symlinkSync(box.outside, box.at('way'))
    const { bash } = createTools({ rootDir: box.root, networkGuard: 'off', sandbox: { denyRead: ['way'] } })
    const look = sh(`cat '${box.outside}/secret'`)
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
    const box = place()
    box.put('a.txt', 'text')
    const alias = join(dirname(box.root), 'alias')
    symlinkSync(box.root, alias)
    const { bash, read, write } = createTools({ rootDir: alias, networkGuard: 'off' })
    for (const path of ['a.txt', join(alias, 'a.txt'), box.at('a.txt')]) expect(await read.execute({ path })).toBe('text')
    await write.execute({ path: join(alias, 'b.txt'), content: 'b' })
    expect(await bash.execute(sh('cat b.txt'))).toBe('b')
    rmSync(alias)
    symlinkSync(box.outside, alias)
    const calls = [
      () => read.execute({ path: 'a.txt' }),
      () => bash.execute(sh('true')),
      () => write.execute({ path: 'planted', content: 'x' }),
    ]
    for (const call of calls) expect((await refusal(call())).code).toBe('TOOL_ROOT_CHANGED')
    expectNothingOutside(box)
  })

  test('one that is made after the tools is known from the first call on', async () => {
    const box = place()
    const { read, write } = createTools({ rootDir: box.at('later') })
    expect((await refusal(read.execute({ path: 'f' }))).code).toBe('TOOL_ROOT_INVALID')
    mkdirSync(box.at('later'))
    await write.execute({ path: 'f', content: 'x' })
    expect(await read.execute({ path: 'f' })).toBe('x')
    rmSync(box.at('later'), { recursive: true })
    mkdirSync(box.at('later'))
    expect((await refusal(read.execute({ path: 'f' }))).code).toBe('TOOL_ROOT_CHANGED')
    // Tools that are made anew are granted what is there now.
    await createTools({ rootDir: box.at('later') }).write.execute({ path: 'f', content: 'x' })
  })

  test('a context keeps its root, and so does a context within it', async () => {
    const box = place()
    box.put('ws/f', 'x')
    const rootDir = box.at('ws')
    await runWithToolContext({ rootDir }, async () => {
      renameSync(rootDir, `${rootDir}-moved`)
      symlinkSync(box.outside, rootDir)
      expect((await refusal(readFileTool('secret'))).code).toBe('TOOL_ROOT_CHANGED')
      await runWithToolContext({ rootDir, runId: 'inner' }, async () => {
        expect((await refusal(writeFileTool('planted', 'x'))).code).toBe('TOOL_ROOT_CHANGED')
      })
    })
    expectNothingOutside(box)
    // A context of its own is granted what is there when it begins.
    expect(await runWithToolContext({ rootDir }, () => readFileTool('secret'))).toBe('SECRET')
  })
})
