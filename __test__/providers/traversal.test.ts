import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type MemoryCommand, providerExecutors, type TextEditorInput } from 'toolwright/providers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fingerprint } from '../support/fingerprint.ts'
import { runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

const SECRET = 'what nobody may read'
/** Tries of each suite, in parts that are watched one by one. */
const TRIES = runs(1_250)

function scene() {
  const fixture = makeSandbox()
  mkdirSync(join(fixture.outside, 'dir'))
  writeFileSync(join(fixture.outside, 'secret'), SECRET)
  writeFileSync(join(fixture.outside, 'dir/secret'), SECRET)
  const executors = providerExecutors({ rootDir: fixture.root, memoryDir: fixture.root })
  return { fixture, ...executors.anthropic, before: fingerprint(fixture.outside) }
}

const steps = [
  ['..', '.', '', 'a', 'b', 'dir', 'swap', 'swap.txt', 'secret', 'out', 'up', 'absolute', 'chain', 'loop', '%2e%2e', '%2E%2E%2f', '..%2f'],
  ['\u2025', '..\0', '..\\', ' ..', '.. ', '~', 'outside', '\uff0e\uff0e', 'memories', '$HOME', 'new', 'proc', 'self', 'root'],
].flat()
const step = fc.constantFrom(...steps)

const relative = fc.array(step, { minLength: 1, maxLength: 7 }).map((steps) => steps.join('/'))

/** A path as a model may write it; absolute ones name the directory outside, or what leads there. */
const path = (outside: string, prefix: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: relative.map((rest) => `${prefix}${rest}`) },
    { weight: 1, arbitrary: relative.map((rest) => `${outside}/${rest}`) },
    { weight: 1, arbitrary: relative.map((rest) => `/proc/self/cwd/${rest}`) },
    { weight: 1, arbitrary: relative.map((rest) => `${prefix}../${rest}`) },
  )

const text = fc.constantFrom('x', 'evil\n', SECRET.slice(5), '')

const memoryInput = (outside: string): fc.Arbitrary<MemoryCommand> => {
  const at = path(outside, '/memories/')
  return fc.oneof(
    fc.record({ command: fc.constant('view' as const), path: at }),
    fc.record({ command: fc.constant('create' as const), path: at, file_text: text }),
    fc.record({ command: fc.constant('str_replace' as const), path: at, old_str: fc.constantFrom('what', 'x', 'decoy'), new_str: text }),
    fc.record({ command: fc.constant('insert' as const), path: at, insert_line: fc.constantFrom(0, 1), insert_text: text }),
    fc.record({ command: fc.constant('delete' as const), path: at }),
    fc.record({ command: fc.constant('rename' as const), old_path: at, new_path: at }),
  )
}

const editorInput = (outside: string): fc.Arbitrary<TextEditorInput> => {
  const at = path(outside, '')
  return fc.oneof(
    fc.record({ command: fc.constant('view' as const), path: at }),
    fc.record({ command: fc.constant('create' as const), path: at, file_text: text }),
    fc.record({ command: fc.constant('str_replace' as const), path: at, old_str: fc.constantFrom('what', 'x', 'decoy'), new_str: text }),
    fc.record({ command: fc.constant('insert' as const), path: at, insert_line: fc.constantFrom(0, 1), insert_text: text }),
  )
}

/** Links that lead out, up, around, and to each other, in place of whatever is there. */
function layLinks(root: string, outside: string): void {
  for (const name of readdirSync(root)) {
    // The exchanged names are in the hands of the other process.
    if (!name.startsWith('swap') && !name.startsWith('.')) rmSync(join(root, name), { recursive: true, force: true })
  }
  mkdirSync(join(root, 'a/b'), { recursive: true })
  mkdirSync(join(root, 'dir'), { recursive: true })
  writeFileSync(join(root, 'a/secret'), 'a decoy')
  for (const [target, name] of [
    [outside, 'absolute'],
    ['../outside', 'out'],
    ['../../outside/dir', 'a/out'],
    ['..', 'up'],
    ['out/dir', 'chain'],
    ['loop', 'loop'],
    ['../../../outside/secret', 'a/b/secret'],
    ['/proc/self/root', 'root'],
  ] as const) {
    symlinkSync(target, join(root, name))
  }
}

async function tryOut(
  { fixture, before }: Pick<ReturnType<typeof scene>, 'fixture' | 'before'>,
  inputs: readonly unknown[],
  run: (input: never) => Promise<string>,
): Promise<{ done: number; refused: number }> {
  const counts = { done: 0, refused: 0 }
  for (const [index, input] of inputs.entries()) {
    if (index % 50 === 0) layLinks(fixture.root, fixture.outside)
    const answer = await run(input as never).then(
      (answered) => ((counts.done += 1), answered),
      (error: Error) => ((counts.refused += 1), error.message),
    )
    if (answer.includes(SECRET)) throw new Error(`read outside: ${JSON.stringify(input)}`)
    if (index % 25 === 24) expect(fingerprint(fixture.outside), JSON.stringify(inputs.slice(index - 24, index + 1))).toBe(before)
  }
  expect(fingerprint(fixture.outside)).toBe(before)
  return counts
}

/** Exchanges a directory and a file of the root with links that lead out, all the time. */
async function startSwapping(root: string, outside: string): Promise<void> {
  const swapper = spawn(process.execPath, [join(import.meta.dirname, '../support/swap-links.ts'), root, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void swapper.kill('SIGKILL'))
  await once(swapper.stdout, 'data')
}

describe(`R10: no escape in ${TRIES} tries each`, () => {
  const limit = { timeout: 600_000 }

  test('of the memory', limit, async () => {
    const at = scene()
    const { done, refused } = await tryOut(at, fc.sample(memoryInput(at.fixture.outside), { numRuns: TRIES, seed }), at.memory)
    expect(Math.min(done, refused)).toBeGreaterThan(TRIES / 50)
  })

  test('of the editor', limit, async () => {
    const at = scene()
    const { done, refused } = await tryOut(at, fc.sample(editorInput(at.fixture.outside), { numRuns: TRIES, seed }), at.textEditor)
    expect(Math.min(done, refused)).toBeGreaterThan(TRIES / 50)
  })

  test('of the memory, while links take the place of files and directories', limit, async () => {
    const at = scene()
    await startSwapping(at.fixture.root, at.fixture.outside)
    await tryOut(at, fc.sample(swapped(memoryInput(at.fixture.outside)), { numRuns: TRIES, seed }), at.memory)
  })

  test('of the editor, while links take the place of files and directories', limit, async () => {
    const at = scene()
    await startSwapping(at.fixture.root, at.fixture.outside)
    await tryOut(at, fc.sample(swapped(editorInput(at.fixture.outside)), { numRuns: TRIES, seed }), at.textEditor)
  })
})

/** Mostly about the names that are exchanged. */
function swapped<T extends { command: string }>(inputs: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const names = fc.constantFrom('swap/secret', 'swap/dir/secret', 'swap.txt', 'swap', 'swap/new', 'a/../swap/secret', 'swap/../swap/secret')
  return fc.tuple(inputs, names, names, fc.integer({ min: 0, max: 9 })).map(([input, one, other, choice]) => {
    if (choice === 0) return input
    const prefix = 'old_path' in input || JSON.stringify(input).includes('/memories/') ? '/memories/' : ''
    return 'old_path' in input
      ? { ...input, old_path: `${prefix}${one}`, new_path: `${prefix}${other}-new` }
      : { ...input, path: `${prefix}${one}` }
  })
}

describe('R10: by name', () => {
  test.each([
    '/memories/../x',
    '/memories/a/../../x',
    '/memories/..',
    '/memories/a/../../../etc/passwd',
    '/etc/passwd',
    '/memoriesx',
    'memories/x',
    '/memories/out/secret',
    '/memories/absolute/secret',
    '/memories/chain/secret',
    '/memories/a/b/secret',
    '/memories/root/etc/passwd',
    '/memories/a\0/../../outside/secret',
    '/memories//../../outside/secret',
    '/memories/up/outside/secret',
  ])('%j is refused by every command of the memory', async (place) => {
    const { fixture, memory, before } = scene()
    layLinks(fixture.root, fixture.outside)
    const commands: MemoryCommand[] = [
      { command: 'view', path: place },
      { command: 'create', path: `${place}/new`, file_text: 'x' },
      { command: 'str_replace', path: place, old_str: 'what', new_str: 'x' },
      { command: 'insert', path: place, insert_line: 0, insert_text: 'x' },
      { command: 'rename', old_path: '/memories/a/secret', new_path: `${place}/moved` },
      { command: 'rename', old_path: `${place}/dir`, new_path: '/memories/stolen' },
    ]
    for (const input of commands) await expect(memory(input), JSON.stringify(input)).rejects.toThrow()
    expect(fingerprint(fixture.outside)).toBe(before)
  })

  test('an encoded `..` is a name like any other', async () => {
    const { fixture, memory, textEditor } = scene()
    expect(await memory({ command: 'create', path: '/memories/%2e%2e/x', file_text: 'x' })).toContain('created')
    expect(await textEditor({ command: 'create', path: '%2e%2e/%2e%2e%2fy', file_text: 'y' })).toContain('created')
    expect(readdirSync(fixture.at('%2e%2e')).sort()).toEqual(['%2e%2e%2fy', 'x'])
  })
})
