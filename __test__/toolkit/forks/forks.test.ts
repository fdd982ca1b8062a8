import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { collectForks, createTools, type Fork, listForks, openCheckpoints, openFork, openJournal, ToolError, undoFork } from 'toolwright'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'

type Box = ReturnType<typeof makeSandbox>

async function scene(files: Record<string, string>, how: Partial<Parameters<typeof openFork>[0]> = {}) {
  const box = makeSandbox()
  for (const [path, text] of Object.entries(files)) box.put(path, text)
  return { box, ...(await forkOf(box, how)) }
}

const storeOf = (box: Box): string => join(box.outside, 'forks')

async function forkOf(box: Box, how: Partial<Parameters<typeof openFork>[0]> = {}) {
  const fork = await openFork({ rootDir: box.root, store: storeOf(box), ...how })
  let isOver = false
  onTestFinished(async () => {
    if (!isOver) await fork.close()
  })
  return { fork, over: () => (isOver = true), tools: createTools({ rootDir: fork, extraTools: ['apply_patch'] }) }
}

const sh = (script: string) => ({ cmd: 'sh', args: ['-c', script] })

const paths = async (fork: Fork): Promise<string[]> => (await fork.status()).changes.map(({ kind, path }) => `${kind} ${path}`)

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return ToolError.isInstance(error) ? error.code : String(error)
}

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

here('a fork as the root of tools', () => {
  test('a closed fork is not opened for another directory in the place of its own', async () => {
    const { box, fork, over } = await scene({ 'a.txt': 'one\n' })
    const { id } = fork
    over()
    await fork.close()
    renameSync(box.root, join(box.outside, 'moved'))
    mkdirSync(box.root)
    await expect(openFork({ store: storeOf(box), id })).rejects.toMatchObject({
      code: 'TOOL_ROOT_CHANGED',
      message: expect.stringMatching(/is another one now: .*Put the directory of then back, or discard the fork/u),
    })
    expect(readdirSync(box.root)).toEqual([])
  })

  test('files, searches, patches and commands work in it, and the directory stays as it is', async () => {
    const { box, fork, tools } = await scene({ 'src/a.txt': 'one\n', 'b.txt': 'b\n', 'node_modules/dep/index.js': 'dep\n' })
    await tools.write.execute({ path: 'new/c.txt', content: 'c\n' })
    await tools.edit.execute({ path: 'src/a.txt', patch: '--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-one\n+two\n' })
    expect(await tools.read.execute({ path: 'src/a.txt' })).toBe('two\n')
    // By its absolute path too, which is that of the directory.
    expect(await tools.read.execute({ path: join(fork.base, 'src/a.txt') })).toBe('two\n')
    expect(await tools.grep.execute({ pattern: 'two|dep', path: '.' })).toContain('src/a.txt')
    expect(await tools.glob.execute({ pattern: '**/*.txt' })).toContain('new/c.txt')
    const output = await tools.bash.execute(
      sh(`pwd; cat ${fork.base}/src/a.txt new/c.txt node_modules/dep/index.js; rm b.txt; echo d > d.txt`),
    )
    expect(output).toBe(`${fork.base}\ntwo\nc\ndep\n`)
    await tools.apply_patch.execute({ patch: '*** Begin Patch\n*** Update File: d.txt\n@@\n-d\n+e\n*** End Patch' })
    expect([box.text('src/a.txt'), box.text('b.txt'), existsSync(box.at('d.txt')), existsSync(box.at('new'))]).toEqual([
      'one\n',
      'b\n',
      false,
      false,
    ])
    expect(await paths(fork)).toEqual(['deleted b.txt', 'created d.txt', 'created new/c.txt', 'modified src/a.txt'])
    expect((await fork.diff()).text).toContain('--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-one\n+two\n')

    expect(await fork.apply({ dryRun: true })).toMatchObject({ conflicts: [], leftOut: [] })
    expect(box.text('src/a.txt')).toBe('one\n')
    const { applied, conflicts } = await fork.apply()
    expect([applied.length, conflicts]).toEqual([4, []])
    expect([box.text('src/a.txt'), existsSync(box.at('b.txt')), box.text('d.txt'), box.text('new/c.txt')]).toEqual([
      'two\n',
      false,
      'e\n',
      'c\n',
    ])
    expect(await paths(fork)).toEqual([])
  })

  test('what changed in the directory meanwhile is a conflict with both sides, and nothing is applied', async () => {
    const { box, fork, tools } = await scene({ 'a.txt': 'one\n', 'b.txt': 'one\n' })
    await tools.write.execute({ path: 'a.txt', content: 'fork\n' })
    await tools.write.execute({ path: 'b.txt', content: 'fork\n' })
    box.put('a.txt', "a person's\n")
    const { applied, conflicts } = await fork.apply()
    expect(applied).toEqual([])
    expect(conflicts).toMatchObject([{ path: 'a.txt', conflict: 'base-changed', base: { bytes: 11 }, fork: { bytes: 5 } }])
    expect([box.text('a.txt'), box.text('b.txt')]).toEqual(["a person's\n", 'one\n'])
    expect((await fork.apply({ paths: ['b.txt'] })).applied).toMatchObject([{ path: 'b.txt' }])
    expect([box.text('a.txt'), box.text('b.txt')]).toEqual(["a person's\n", 'fork\n'])
    expect(await codeOf(fork.apply({ paths: ['c.txt'] }))).toBe('FORK_CHANGE_NOT_FOUND')
    await tools.bash.execute(sh('git init -q --bare up.git'))
    await expect(fork.apply({ paths: ['up.git/HEAD'] })).rejects.toMatchObject({
      code: 'FORK_CHANGE_NOT_FOUND',
      message: expect.stringMatching(/is never applied: `up\.git\/HEAD` \(it belongs to a git directory\).*Apply without `paths`/u),
      details: { path: 'up.git/HEAD', reason: 'git' },
    })
  })

  test('no command leads out of a fork: by paths, links, git or processes', async () => {
    const { box, fork, tools } = await scene({ 'a.txt': 'base\n', 'd/b.txt': 'base\n' })
    symlinkSync(box.at('a.txt'), box.at('link'))
    execFileSync('git', ['init', '-q', box.root])
    const git = ['-c', 'user.name=x', '-c', 'user.email=x@example.com']
    execFileSync('git', ['-C', box.root, ...git, 'add', '-A'])
    execFileSync('git', ['-C', box.root, ...git, 'commit', '-qm', 'first'])
    const state = () => readTree(box.root)
    const before = state()
    const others = await Promise.all(Array.from({ length: 7 }, () => forkOf(box)))
    const all = [{ fork, tools }, ...others]
    const leaks = [
      `echo leak > ${fork.base}/a.txt`,
      `echo leak > link`,
      `cd / && cd ${fork.base} && echo leak >> d/b.txt`,
      `ln a.txt hard && echo leak > hard`,
      `echo leak > /proc/self/cwd/a.txt`,
      `for p in /proc/[0-9]*; do echo leak > $p/root${fork.base}/a.txt; done 2>/dev/null; true`,
      `git checkout -q -b other && git rm -q d/b.txt && git -c user.name=x -c user.email=x@x commit -qm leak`,
      `git stash -q -u; git gc -q --prune=now`,
      `echo hook > .git/hooks/post-checkout; git config core.hooksPath /tmp`,
      `mv d e && rm -rf d`,
      `echo swap > .a.txt.swp && mv .a.txt.swp a.txt`,
      `(sleep 0.1; echo leak > a.txt) & wait`,
    ]
    await Promise.all(
      all.map(async ({ tools: set }, index) => {
        for (const leak of leaks) await set.bash.execute(sh(`${leak}; true`))
        await set.write.execute({ path: 'own.txt', content: `${index}\n` })
      }),
    )
    expect(state()).toEqual(before)
    for (const [index, { tools: set }] of all.entries()) expect(await set.read.execute({ path: 'own.txt' })).toBe(`${index}\n`)
    for (const { fork: one, over } of others) {
      over()
      await one.discard()
    }
    expect(state()).toEqual(before)
  })

  test('a fork that is discarded or closed is refused, and a closed one can be opened again', async () => {
    const { box, fork, tools, over } = await scene({ 'a.txt': 'one\n' })
    await tools.write.execute({ path: 'a.txt', content: 'two\n' })
    expect(await listForks({ store: storeOf(box) })).toMatchObject([{ id: fork.id, state: 'open', base: fork.base }])
    expect(await codeOf(openFork({ id: fork.id, store: storeOf(box) }))).toBe('FORK_BUSY')
    over()
    await fork.close()
    expect(await codeOf(tools.read.execute({ path: 'a.txt' }))).toBe('TOOL_ROOT_CHANGED')
    expect(await codeOf(tools.bash.execute(sh('true')))).toBe('TOOL_ROOT_CHANGED')
    expect(await codeOf(fork.status())).toBe('FORK_CLOSED')
    const again = await openFork({ id: fork.id, store: storeOf(box) })
    expect(await createTools({ rootDir: again }).read.execute({ path: 'a.txt' })).toBe('two\n')
    await again.discard()
    expect(await codeOf(again.apply())).toBe('FORK_CLOSED')
    expect(await codeOf(openFork({ id: fork.id, store: storeOf(box) }))).toBe('FORK_NOT_FOUND')
    expect([box.text('a.txt'), readdirSync(storeOf(box))]).toEqual(['one\n', []])
  })

  test('what cannot be forked is refused with the reason', async () => {
    const box = makeSandbox()
    box.put('a.txt', '')
    expect(await codeOf(openFork({ rootDir: '/' }))).toBe('FORK_UNAVAILABLE')
    expect(await codeOf(openFork({ rootDir: box.root, store: box.at('forks') }))).toBe('FORK_UNAVAILABLE')
    expect(await codeOf(openFork({ rootDir: box.at('a.txt'), store: storeOf(box) }))).toBe('TOOL_ROOT_INVALID')
    expect(await codeOf(openFork({ id: '../x', store: storeOf(box) }))).toBe('FORK_NOT_FOUND')
    expect(await codeOf(openFork({ id: 'x', rootDir: '.' }))).toBe('INVALID_INPUT')
    expect(await codeOf(openFork({}))).toBe('INVALID_INPUT')
    const { fork } = await forkOf(box)
    const checkpoints = await openCheckpoints(box.root, { store: join(box.outside, 'checkpoints') })
    onTestFinished(() => checkpoints.close())
    expect(() => createTools({ rootDir: fork, checkpoints })).toThrow(/checkpoints/u)
  })

  test('directories of the base are renamed by programs, and the difference says so', async () => {
    const { box, fork, tools } = await scene({ 'src/a.txt': 'one\n', 'src/deep/b.txt': 'two\n' })
    const runtime = process.versions.bun === undefined ? 'node' : process.execPath
    const rename = "require('node:fs').renameSync('src', 'lib')"
    await tools.bash.execute({ cmd: runtime, args: ['-e', rename] })
    expect(await tools.bash.execute(sh('cat lib/a.txt lib/deep/b.txt; ls'))).toBe('one\ntwo\nlib\n')
    await tools.bash.execute(sh('git init -q .; git add .; git -c user.name=x -c user.email=x@example.com commit -qm x; git mv lib src2'))
    expect((await fork.diff()).text).toBe(
      [
        'diff a/src/a.txt b/src2/a.txt\nrename from src/a.txt\nrename to src2/a.txt\n',
        'diff a/src/deep/b.txt b/src2/deep/b.txt\nrename from src/deep/b.txt\nrename to src2/deep/b.txt\n',
      ].join(''),
    )
    expect(box.text('src/a.txt')).toBe('one\n')
    expect((await fork.apply()).conflicts).toEqual([])
    expect([existsSync(box.at('src')), box.text('src2/deep/b.txt')]).toEqual([false, 'two\n'])
  })

  test('other lines of a text are merged, and the same ones are a conflict', async () => {
    const text = 'one\ntwo\nthree\nfour\nfive\n'
    const { box, fork, tools } = await scene({ 'a.txt': text })
    await tools.write.execute({ path: 'a.txt', content: text.replace('one', 'ONE') })
    await fork.status()
    box.put('a.txt', text.replace('five', 'FIVE'))
    expect((await fork.apply({ merge: 'refuse' })).conflicts).toMatchObject([{ path: 'a.txt', isMerged: false }])
    expect((await fork.apply()).applied).toMatchObject([{ path: 'a.txt', isMerged: true, conflict: null }])
    const both = text.replace('one', 'ONE').replace('five', 'FIVE')
    expect([box.text('a.txt'), await tools.read.execute({ path: 'a.txt' })]).toEqual([both, both])
    await tools.write.execute({ path: 'a.txt', content: both.replace('two', '2') })
    await fork.status()
    box.put('a.txt', both.replace('two', 'TWO'))
    expect((await fork.apply()).conflicts).toMatchObject([{ path: 'a.txt', conflict: 'base-changed' }])
    await expect(fork.apply({ merge: 'theirs' as 'text' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('an apply is undone as a whole, by the fork and when it is gone', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { box, fork, tools, over } = await scene({ 'a.txt': 'one\n', 'b.txt': 'b\n' }, { journal, runId: 'run' })
    const before = readTree(box.root)
    expect(await codeOf(fork.undo())).toBe('FORK_NOT_APPLIED')
    await tools.bash.execute(sh('echo two > a.txt; rm b.txt; mkdir n; echo c > n/c.txt'))
    await fork.apply()
    box.put('n/c.txt', "a person's\n")
    expect(await fork.undo()).toMatchObject({ undone: [], conflicts: [{ path: 'n/c.txt', conflict: 'base-changed' }] })
    box.put('n/c.txt', 'c\n')
    expect((await fork.undo()).undone.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'modified a.txt',
      'created b.txt',
      'deleted n',
      'deleted n/c.txt',
    ])
    expect([readTree(box.root), existsSync(box.at('n'))]).toEqual([before, false])
    expect((await fork.apply()).applied.length).toBe(3)
    over()
    await fork.discard()
    expect((await undoFork({ id: fork.id, store: storeOf(box), journal, runId: 'run' })).conflicts).toEqual([])
    expect(readTree(box.root)).toEqual(before)
    expect(await codeOf(undoFork({ id: fork.id, store: storeOf(box) }))).toBe('FORK_NOT_APPLIED')
    const rows = await journal.listRun('run')
    expect(rows.map(({ toolName, status }) => `${toolName} ${status}`).slice(-4)).toEqual([
      'fork_undo success',
      'fork_apply success',
      'fork_discard success',
      'fork_undo success',
    ])
  })

  test('a fork with more bytes than it may have is refused, until it may have more', async () => {
    const { box, fork, tools, over } = await scene({ 'a.txt': 'one\n' }, { maxBytes: 1_000_000 })
    await tools.bash.execute(sh('head -c 3000000 /dev/zero > large'))
    await expect.poll(() => codeOf(tools.read.execute({ path: 'a.txt' })), { timeout: 30_000 }).toBe('FORK_FULL')
    expect(await codeOf(tools.bash.execute(sh('true')))).toBe('FORK_FULL')
    expect(await paths(fork)).toEqual(['created large'])
    over()
    await fork.close()
    const again = await openFork({ id: fork.id, store: storeOf(box), maxBytes: 10_000_000 })
    onTestFinished(() => again.close())
    expect(await createTools({ rootDir: again }).read.execute({ path: 'a.txt' })).toBe('one\n')
    await expect(openFork({ rootDir: box.root, maxBytes: 0 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('a command and a process that run are stopped when the fork has more bytes than it may', async () => {
    const { box, fork } = await scene({ 'a.txt': 'one\n' }, { maxBytes: 3_000_000 })
    const grow = (name: string): string => `while :; do head -c 500000 /dev/zero >> ${name}; sleep 0.05; done`
    await using tools = createTools({ rootDir: fork, processes: true, toolTimeoutMs: 120_000 })
    const { process_id: id } = await tools.process_start.execute({ command: grow('by-process'), wait_ms: 1 })
    const refused = await tools.bash.execute(sh(grow('by-command'))).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (!ToolError.isInstance(refused)) throw new Error(`not refused: ${String(refused)}`)
    expect([refused.code, refused.details['signal']]).toEqual(['TOOL_COMMAND_FAILED', 'SIGKILL'])
    expect(refused.details['denials']).toEqual([{ layer: 'limits', subject: 'fork size', option: 'openFork.maxBytes' }])
    expect(refused.message).toMatch(/stopped, because the fork that it ran in has more than .*larger maxBytes/su)
    const ended = await tools.process_read.execute({ process_id: id, wait_ms: 60_000 })
    expect(JSON.stringify(ended)).toMatch(/SIGKILL.*the fork that it ran in has more than/su)
    expect((await fork.status()).bytes).toBeLessThan(200_000_000)
    expect(box.text('a.txt')).toBe('one\n')
    expect(await codeOf(tools.bash.execute(sh('true')))).toBe('FORK_FULL')
  })

  test('a fork of a fork is refused with what to do', async () => {
    const { fork } = await scene({ 'a.txt': 'one\n' })
    await expect(openFork({ rootDir: fork as unknown as string })).rejects.toMatchObject({
      code: 'FORK_UNAVAILABLE',
      message: expect.stringMatching(/No fork can be made of a fork.*Apply it.*its base/u),
    })
  })

  test('applying and discarding are rows of a journal', async () => {
    const journal = await openJournal('memory:')
    onTestFinished(() => journal.close())
    const { fork, tools, over } = await scene({ 'a.txt': 'one\n' }, { journal, runId: 'run' })
    await tools.write.execute({ path: 'a.txt', content: 'two\n' })
    await fork.apply({ dryRun: true })
    await fork.apply({ paths: ['a.txt'] })
    over()
    await fork.discard()
    const rows = await journal.listRun('run')
    expect(rows.map(({ toolName, status }) => [toolName, status])).toEqual([
      ['fork_apply', 'success'],
      ['fork_discard', 'success'],
    ])
    expect(JSON.parse(rows[0]?.inputJson ?? '')).toEqual({ fork: fork.id, paths: ['a.txt'] })
  })

  test('what editors and agents obey is applied only if it is named', async () => {
    const { box, fork, tools } = await scene({ 'a.txt': 'one\n' })
    await tools.bash.execute(sh('mkdir .vscode; echo planted > .vscode/tasks.json; echo two > a.txt'))
    expect((await fork.status()).changes.map(({ path, isProtected }) => [path, isProtected])).toEqual([
      ['.vscode/tasks.json', true],
      ['a.txt', false],
    ])
    expect((await fork.apply()).leftOut).toEqual([{ path: '.vscode/tasks.json', reason: 'protected' }])
    expect([box.text('a.txt'), existsSync(box.at('.vscode'))]).toEqual(['two\n', false])
    await fork.apply({ paths: ['.vscode/tasks.json'] })
    expect(box.text('.vscode/tasks.json')).toBe('planted\n')
  })

  test('the example has three agents try, and applies what passes', () => {
    const output = execFileSync(process.execPath, ['examples/forks.mjs'], { encoding: 'utf8' })
    expect(output.split('\n').slice(0, 3).sort()).toEqual([
      'careful: total.mjs changed, the tests pass',
      'careless: total.mjs changed, the tests fail',
      'hopeful: total.mjs changed, the tests fail',
    ])
    expect(output).toContain('the project is as it was: true\n')
    expect(output).toMatch(/applied: careful, 1 file\n$/u)
  })

  test('collection removes what has no changes', async () => {
    const { box, fork, over } = await scene({ 'a.txt': 'one\n' })
    const { fork: changed, tools, over: changedIsOver } = await forkOf(box)
    await tools.write.execute({ path: 'a.txt', content: 'two\n' })
    over()
    changedIsOver()
    await fork.close()
    await changed.close()
    expect(await collectForks({ store: storeOf(box) })).toEqual({ removed: [fork.id], kept: 1 })
    expect(await collectForks({ store: storeOf(box), maxAgeMs: 0 })).toEqual({ removed: [changed.id], kept: 0 })
  })
})

/** Every file of a directory with its content. */
function readTree(root: string): Record<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.map((entry) => join(entry.parentPath, entry.name)).sort()
  return Object.fromEntries(files.map((path) => [path, readFileSync(path, 'latin1')]))
}
