import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { listForks, openFork, openJournal } from 'toolwright'
import { type AgentDefinition, type ChildAgent, createSession, type SessionOptions } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, openScene } from '../scene.ts'

// Needs overlays: see docs/guides/forks.md.
const here = process.platform === 'linux' ? describe : describe.skip

const agents: AgentDefinition[] = [
  { name: 'apart', isolation: 'fork' },
  { name: 'inside', requires: {} },
]

const team = (work: (child: ChildAgent) => Promise<unknown>, more: Partial<SessionOptions> = {}) =>
  openScene({
    manifest: { name: 'root', permissions: allowAll, agents },
    host: { spawn: async (child) => String((await work(child)) ?? 'done') },
    ...more,
  })

const task = (subagent_type: string, prompt = 'Do it.', more: object = {}) => ({ subagent_type, prompt, ...more })

type Left = { fork?: { id: string | null; changes: { path: string; kind: string }[] } }
const leftBy = (envelope: { type: string; data?: unknown }): NonNullable<Left['fork']> => {
  const { fork } = (envelope.data ?? {}) as Left
  if (fork === undefined) throw new Error(`no fork: ${JSON.stringify(envelope)}`)
  return fork
}

here("subagents of isolation: 'fork'", () => {
  test('each works in a fork of its own, the result lists what it has changed, and the host applies one', async () => {
    const scene = await team(async ({ session, prompt }) => {
      await session.call('write', { path: 'answer.txt', content: `${prompt}\n` })
      await session.call('bash', { command: `cat answer.txt > ${prompt}.txt` })
      return JSON.stringify(await session.call('read', { path: 'answer.txt' }))
    })
    scene.put('answer.txt', 'none\n')
    const all = await Promise.all(['one', 'two', 'three'].map((prompt) => scene.call('task', task('apart', prompt))))
    expect(scene.text('answer.txt')).toBe('none\n')
    const forks = all.map((one) => leftBy(one as never))
    expect(forks.map(({ changes }) => changes)).toEqual(
      ['one', 'two', 'three'].map((name) => [
        { path: 'answer.txt', kind: 'modified' },
        { path: `${name}.txt`, kind: 'created' },
      ]),
    )
    const ids = forks.map(({ id }) => String(id))
    expect(scene.session.forks.all.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const { applied, conflicts } = await scene.session.forks.apply(ids[1] as string)
    expect([applied.length, conflicts]).toEqual([2, []])
    expect([scene.text('answer.txt'), scene.text('two.txt')]).toEqual(['two\n', 'two\n'])
    for (const id of ids) await scene.session.forks.discard(id)
    expect(scene.session.forks.all).toEqual([])
    await expect(scene.session.forks.apply('gone')).rejects.toMatchObject({ code: 'FORK_NOT_FOUND' })
    expect(await listForks({ rootDir: scene.root })).toEqual([])
  })

  test('one that has changed nothing leaves no fork, and one without isolation works in the directory', async () => {
    const scene = await team(async ({ session, agent }) => {
      if (agent.name === 'inside') await session.call('write', { path: 'a.txt', content: 'a\n' })
      return (await session.call('glob', { pattern: '*' })).type
    })
    expect(leftBy((await scene.call('task', task('apart'))) as never)).toEqual({ id: null, changes: [] })
    expect((await scene.call('task', task('inside'))).type).toBe('output')
    expect(scene.text('a.txt')).toBe('a\n')
    expect(await listForks({ rootDir: scene.root })).toEqual([])
  })

  test('what one that fails has changed stays in its fork, and so does what is left when the session ends', async () => {
    const scene = await team(async ({ session }) => {
      await session.call('write', { path: 'half.txt', content: 'half\n' })
      throw new Error('broken')
    })
    const failed = await scene.call('task', task('apart'))
    expect(failed).toMatchObject({ type: 'error', metadata: { code: 'tool_failed' } })
    expect(failed.type === 'error' && failed.error_text).toMatch(/broken.*in the fork .* and not yet applied:\ncreated half\.txt/su)
    const [fork] = scene.session.forks.all
    expect((await fork?.diff())?.text).toContain('+half')
    await scene.session.close()
    const kept = await listForks({ rootDir: scene.root })
    expect(kept.map(({ id, state, label }) => [id, state, label])).toEqual([[fork?.id, 'kept', 'apart: Do it.']])
    await (await openFork({ id: String(fork?.id) })).discard()
  })

  test('in the background, the message has what it has changed', async () => {
    const scene = await team(async ({ session }) => void (await session.call('write', { path: 'b.txt', content: 'b\n' })))
    expect((await scene.call('task', task('apart', 'Later.', { background: true }))).type).toBe('output')
    const read = async (): Promise<string> => JSON.stringify((await scene.session.prepareStep({ messages: [] })).messages ?? [])
    await expect.poll(read).toMatch(/has finished.*in the fork .* and not yet applied:\\ncreated b\.txt/su)
    for (const fork of scene.session.forks.all) await fork.discard()
  })

  test('a session in a fork gives it to its subagents, and none of them gets one of its own', async () => {
    const box = makeSandbox()
    const fork = await openFork({ rootDir: box.root, store: join(box.outside, 'forks') })
    onTestFinished(() => fork.close())
    await using session = await createSession({
      workspace: box.root,
      fork,
      manifest: { name: 'root', permissions: allowAll, agents },
      host: { spawn: async ({ session: child }) => (await child.call('write', { path: 'c.txt', content: 'c\n' })).metadata.code },
    })
    expect(await session.call('task', task('inside'))).toMatchObject({ type: 'output', data: { output: 'ok' } })
    expect((await fork.status()).changes.map(({ path }) => path)).toEqual(['c.txt'])
    const refused = await session.call('task', task('apart'))
    expect(refused).toMatchObject({ type: 'error', metadata: { code: 'unavailable' } })
    expect(refused.type === 'error' && refused.error_text).toMatch(/works in a fork itself/u)
  })

  test('files that the user opens in the workspace are those of the fork', async () => {
    const requires = { fs: { read: ['{ad-hoc}/**'], write: ['{ad-hoc}/**'] } }
    const narrow: AgentDefinition[] = [{ name: 'apart', isolation: 'fork', requires }]
    const scene = await team(
      async ({ session }) => {
        // Also while it works.
        scene.session.openFile(scene.at('b/opened.txt'))
        const codes = []
        for (const name of ['a', 'b']) {
          codes.push((await session.call('write', { path: scene.at(`${name}/x.txt`), content: 'x' })).metadata.code)
          codes.push((await session.call('bash', { command: `echo y > ${scene.at(`${name}/y.txt`)}` })).metadata.code)
        }
        return codes.join()
      },
      { manifest: { name: 'root', permissions: allowAll, agents: narrow, requires } },
    )
    for (const name of ['a', 'b']) scene.put(`${name}/kept.txt`, 'k\n')
    scene.session.openFile(scene.at('a/opened.txt'))
    const done = await scene.call('task', task('apart'))
    expect(done).toMatchObject({ type: 'output', data: { output: 'ok,ok,ok,ok' } })
    expect(leftBy(done as never).changes.map(({ path }) => path)).toEqual(['a/x.txt', 'a/y.txt', 'b/x.txt', 'b/y.txt'])
    for (const path of ['a/x.txt', 'a/y.txt', 'b/x.txt', 'b/y.txt']) expect(existsSync(scene.at(path))).toBe(false)
    for (const fork of scene.session.forks.all) await fork.discard()
  })

  test("what an agent of an agent has left is the whole session's", async () => {
    const scene = await team(async ({ session, agent }) => {
      if (agent.name === 'inside') return JSON.stringify(await session.call('task', task('apart')))
      return (await session.call('write', { path: 'deep.txt', content: 'deep\n' })).metadata.code
    })
    expect((await scene.call('task', task('inside'))).type).toBe('output')
    const [fork] = scene.session.forks.all
    expect((await scene.session.forks.apply(String(fork?.id))).applied.map(({ path }) => path)).toEqual(['deep.txt'])
    await scene.session.forks.discard(String(fork?.id))
    expect(scene.text('deep.txt')).toBe('deep\n')
  })

  test('applies are rows of the journal of the session', async () => {
    const box = makeSandbox()
    await using journal = await openJournal(join(box.outside, 'runs.db'))
    await using session = await createSession({
      id: 'parent',
      workspace: box.root,
      journal,
      manifest: { name: 'root', permissions: allowAll, agents },
      host: { spawn: async ({ session: child }) => (await child.call('write', { path: 'c.txt', content: 'c\n' })).metadata.code },
    })
    const { id } = leftBy((await session.call('task', task('apart'))) as never)
    await session.forks.apply(String(id))
    await session.forks.discard(String(id))
    expect((await journal.listToolCalls('parent', 'forks', 0)).map(({ toolName }) => toolName)).toEqual(['fork_apply', 'fork_discard'])
  })
})
