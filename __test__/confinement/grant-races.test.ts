import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createTools, ToolError } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allowAll, openSession } from '../contract/scene.ts'
import { runs } from '../support/randomised.ts'
import { makeSandbox, type Sandbox } from '../support/sandbox.ts'

/** renameat2 has no word in Node. */
const RENAMEAT2: Partial<Record<string, number>> = { x64: 316, arm64: 276 }
const call = RENAMEAT2[process.arch]
const hasPerl = call !== undefined && spawnSync('perl', ['-v']).status === 0

/** Exchanges a directory and a link to `outside`, over and over, in a process of its own. */
async function exchanging(path: string, outside: string): Promise<() => Promise<void>> {
  const trap = `${path}-trap`
  symlinkSync(outside, trap)
  const script = `$| = 1; print "ready"; for (;;) { syscall(${call}, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 or die $!; select(undef, undef, undef, rand() / 2000) }`
  const child = spawn('perl', ['-e', script, path, trap], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(() => void child.kill())
  return () => {
    // It has to have gone on until now.
    expect(child.exitCode).toBeNull()
    child.kill()
    return ended
  }
}

const SECRET = 'SECRET of others'
/** A tenth of what the soak makes. Starting a command takes hundreds of times as long as a read. */
const calls = runs(1000)

function place(): Sandbox & { beside(name: string): string } {
  const fixture = makeSandbox()
  writeFileSync(join(fixture.outside, 'file'), SECRET)
  const beside = (name: string): string => {
    const path = join(dirname(fixture.root), name)
    mkdirSync(path)
    writeFileSync(join(path, 'file'), 'granted')
    return path
  }
  return { ...fixture, beside }
}

/** Makes the calls by turns while `path` is exchanged, and counts how they end. */
async function race(fixture: Sandbox, path: string, turns: readonly ((number: number) => Promise<unknown>)[]): Promise<void> {
  const tally: Record<string, number> = {}
  const stop = await exchanging(path, fixture.outside)
  for (let number = 0; number < calls; number += 1) {
    // One in ten is a command, the first of them.
    const turn = number % 10 === 0 ? turns[0] : turns[1 + (number % (turns.length - 1))]
    const answer = await turn?.(number).catch((error: unknown) => {
      if (!ToolError.isInstance(error)) throw error
      return `${error.code} ${error.message} ${String(error.details['output'])}`
    })
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    expect(text).not.toContain(SECRET)
    const end = /TOOL_ROOT_CHANGED/u.test(text) ? 'changed' : 'other'
    tally[end] = (tally[end] ?? 0) + 1
  }
  await stop()
  expect(readFileSync(join(fixture.outside, 'file'), 'utf8')).toBe(SECRET)
  expect(existsSync(join(fixture.outside, 'planted'))).toBe(false)
  // Both have been met.
  expect(Object.keys(tally).toSorted()).toEqual(['changed', 'other'])
  if (process.env['TOOLWRIGHT_SOAK_FACTOR'] !== undefined) console.log(tally)
}

const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

describe.skipIf(process.platform !== 'linux' || !hasPerl)(
  'nothing outside is read or written while a granted directory is exchanged for a link:',
  () => {
    test('the root of tools', { timeout: 3_600_000 }, async () => {
      const fixture = place()
      const rootDir = fixture.beside('granted')
      const { bash, read, write, edit, grep } = createTools({ rootDir, networkGuard: 'off', sandbox: { denyRead: [fixture.outside] } })
      await race(fixture, rootDir, [
        () => bash.execute(sh(`cat file; cat '${rootDir}/file'; echo x > planted; echo x > '${rootDir}/planted'`)),
        () => read.execute({ path: 'file' }),
        () => read.execute({ path: join(rootDir, 'file') }),
        () => write.execute({ path: 'planted', content: 'x' }),
        () =>
          edit.execute({
            path: 'file',
            patch: '@@ -1 +1 @@\n-granted\n\\ No newline at end of file\n+granted\n\\ No newline at end of file\n',
          }),
        () => grep.execute({ pattern: 'SECRET|granted' }),
      ])
    })

    test.each(['writableRoots', 'readable'] as const)('sandbox.%s', { timeout: 3_600_000 }, async (option) => {
      const fixture = place()
      const granted = fixture.beside('granted')
      const { bash, read } = createTools({
        rootDir: fixture.root,
        networkGuard: 'off',
        sandbox: { [option]: [granted], denyRead: [fixture.outside] },
      })
      fixture.put('file', 'root')
      await race(fixture, granted, [
        () => bash.execute(sh(`cat '${granted}/file'; echo x > '${granted}/planted'`)),
        // The others are not concerned.
        async () => {
          const text = await read.execute({ path: 'file' })
          expect(text).toBe('root')
          return text
        },
      ])
    })

    test.each(['workspace', 'adHoc', 'userData', 'scratch'] as const)('%s of a session', { timeout: 3_600_000 }, async (kind) => {
      const fixture = place()
      const paths = { workspace: fixture.beside('ws'), adHoc: fixture.beside('notes'), userData: fixture.beside('data'), scratch: '' }
      const all = ['{workspace}/**', '{ad-hoc}/**', '{user-data}/**']
      const requires = { fs: { read: all, write: all }, shell: [{ cmd: '*' }] }
      const session = await openSession(fixture, {
        workspace: paths.workspace,
        adHoc: [paths.adHoc],
        userData: paths.userData,
        manifest: { name: 'test', permissions: allowAll, requires },
        sandbox: { denyRead: [fixture.outside] },
      })
      paths.scratch = session.scratch
      const path = paths[kind]
      writeFileSync(join(path, 'file'), 'granted')
      const calling = (tool: string, args: object) => () => session.call(tool, args)
      await race(fixture, path, [
        calling('bash', { command: `cat '${path}/file'; echo x > '${path}/planted'` }),
        calling('read', { path: join(path, 'file') }),
        calling('write', { path: join(path, 'planted'), content: 'x' }),
        calling('edit', { path: join(path, 'file'), old_string: 'e', new_string: 'e', replace_all: true }),
        calling('glob', { pattern: '*', path }),
        calling('grep', { pattern: 'SECRET|granted', path }),
      ])
    })
  },
)
