import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ChildAgent, Session } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, openScene, openSession, rule, testTool } from '../scene.ts'

/** How a read of a path ends. */
const reads = async (session: Session, path: string): Promise<string> => {
  const envelope = await session.call('read', { path })
  return envelope.type === 'output' ? dataOf(envelope).content : envelope.metadata.code
}

describe('files that are opened and closed while a session runs', () => {
  test('R11 the directory of an open file is one of {ad-hoc}, and no other is', async () => {
    const { session } = await openScene()
    const other = makeSandbox()
    const file = other.put('notes/a.txt', 'a')
    other.put('b.txt', 'b')
    other.put('notes/deep/c.txt', 'c')
    expect(await reads(session, file)).toBe('capability_refused')
    session.openFile(file)
    expect(await reads(session, file)).toBe('a')
    expect(await reads(session, other.at('notes/deep/c.txt'))).toBe('c')
    expect(await reads(session, other.at('b.txt'))).toBe('capability_refused')
    expect(dataOf(await session.call('grep', { pattern: 'c', path: other.at('notes') })).matches).toHaveLength(1)
    session.closeFile(file)
    expect(await reads(session, file)).toBe('capability_refused')
  })

  test('R11 a directory stays while another file of it is open, and while one is open twice', async () => {
    const { session } = await openScene()
    const other = makeSandbox()
    const [a, b] = [other.put('a.txt', 'a'), other.put('b.txt', 'b')]
    session.openFile(a)
    session.openFile(b)
    session.openFile(b)
    session.closeFile(a)
    expect(await reads(session, a)).toBe('a')
    session.closeFile(b)
    expect(await reads(session, a)).toBe('a')
    session.closeFile(b)
    expect(await reads(session, a)).toBe('capability_refused')
  })

  test('R11 what the session was opened with stays', async () => {
    const fixture = makeSandbox()
    const other = makeSandbox()
    const file = other.put('a.txt', 'a')
    const session = await openSession(fixture, { adHoc: [other.root] })
    session.openFile(file)
    session.closeFile(file)
    expect(await reads(session, file)).toBe('a')
  })

  test('R11 a file that is not there yet can be opened; a link is not followed, and a directory is no file', async () => {
    const { session } = await openScene()
    const [other, secret] = [makeSandbox(), makeSandbox()]
    secret.put('key', 'key')
    session.openFile(other.at('new.txt'))
    expect((await session.call('write', { path: other.at('new.txt'), content: 'new' })).type).toBe('output')
    expect(await reads(session, other.at('new.txt'))).toBe('new')
    symlinkSync(secret.at('key'), other.at('link'))
    session.openFile(other.at('link'))
    expect(await reads(session, secret.at('key'))).toBe('capability_refused')
    const refused = { name: 'ToolError', code: 'INVALID_INPUT' }
    for (const path of [other.root, other.at('no/such/place'), other.at('new.txt/x'), '/', '', 'a\0b', 7 as unknown as string]) {
      expect(() => session.openFile(path), String(path)).toThrow(expect.objectContaining(refused))
    }
    expect(() => session.closeFile(other.at('never'))).toThrow(
      expect.objectContaining({ ...refused, message: expect.stringContaining('is not open') }),
    )
  })

  test('R11 a call that has begun keeps what it had', async () => {
    const other = makeSandbox()
    const file = other.put('a.txt', 'a')
    let begun = (): void => undefined
    let change = (): void => undefined
    const started = new Promise<void>((resolve) => (begun = resolve))
    const changed = new Promise<void>((resolve) => (change = resolve))
    const tool = testTool(
      'look',
      async (_args, { fs }) => {
        begun()
        await changed
        return (await fs.read(file)).content
      },
      { requires: { fs: { read: ['{ad-hoc}/**'] } } },
    )
    const rules = [{ permission: 'look', pattern: '', action: 'allow' as const }, rule('fs.read {ad-hoc}/** allow')]
    const { session } = await openScene({ tools: [tool], ...manifest(rules) })
    session.openFile(file)
    const running = session.call('look', {})
    await started
    session.closeFile(file)
    change()
    expect(dataOf(await running)).toBe('a')
    const late = session.call('look', {})
    session.openFile(file)
    expect(failureOf(await late).code).toBe('capability_refused')
  })

  test('R11 R38 rules with {ad-hoc} follow, also ones that the user records meanwhile', async () => {
    const other = makeSandbox()
    const [a, secret] = [other.put('a.txt', 'a'), other.put('secret.txt', 's')]
    const { session } = await openScene({
      ...manifest([rule('fs.read {ad-hoc}/secret.txt deny'), rule('fs.read /** allow')]),
      host: { prompt: () => ({ decision: 'allow_always' }) },
    })
    session.openFile(a)
    expect(await reads(session, a)).toBe('a')
    expect(await reads(session, secret)).toBe('permission_denied')
    expect((await session.call('todo', { todos: [] })).type).toBe('output')
    expect((await session.call('write', { path: 'x.txt', content: 'x' })).type).toBe('output')
    expect(await reads(session, secret)).toBe('permission_denied')
  })

  test('R29 commands that begin then read and write there, as tools do', async () => {
    const other = makeSandbox()
    const file = other.put('a.txt', 'a')
    const { session } = await openScene()
    const command = { command: `cat ${file} && echo b > ${other.at('b.txt')}` }
    expect(dataOf(await session.call('bash', command)).exit_code).not.toBe(0)
    session.openFile(file)
    expect(dataOf(await session.call('bash', command))).toMatchObject({ exit_code: 0, stdout: 'a' })
    expect(other.text('b.txt')).toBe('b\n')
    session.closeFile(file)
    expect(dataOf(await session.call('bash', command)).exit_code).not.toBe(0)
  })

  test('R52 subagents have what their parent has open, also what is opened while they work, and give it nothing', async () => {
    const [one, two] = [makeSandbox(), makeSandbox()]
    const [a, b] = [one.put('a.txt', 'a'), two.put('b.txt', 'b')]
    const seen: string[] = []
    const work = async ({ session: child }: ChildAgent): Promise<string> => {
      seen.push(await reads(child, a), await reads(child, b))
      parent.session.openFile(b)
      seen.push(await reads(child, b))
      parent.session.closeFile(a)
      // More than its parent has, no child can have.
      child.openFile(a)
      seen.push(await reads(child, a), await reads(parent.session, a))
      return 'done'
    }
    const parent = await openScene({
      manifest: { name: 'root', permissions: allowAll, agents: [{ name: 'helper' }] },
      host: { spawn: work },
    })
    parent.session.openFile(a)
    expect((await parent.call('task', { subagent_type: 'helper', prompt: 'x' })).type).toBe('output')
    expect(seen).toEqual(['a', 'capability_refused', 'b', 'capability_refused', 'capability_refused'])
  })

  test('R11 nothing else is looked up again when a file is opened: the workspace stays what it was', async () => {
    const fixture = makeSandbox()
    const [other, secret] = [makeSandbox(), makeSandbox()]
    secret.put('key', 'key')
    fixture.put('key', 'own')
    const session = await openSession(fixture)
    // Whoever can rename the root puts a link in its place.
    renameSync(fixture.root, join(fixture.outside, 'moved'))
    symlinkSync(secret.root, fixture.root)
    session.openFile(other.put('a.txt', 'a'))
    expect(await reads(session, secret.at('key'))).toBe('unavailable')
    expect(await reads(session, 'key')).not.toBe('key')
  })

  test('R11 a closed session takes none', async () => {
    const { session } = await openScene()
    const other = makeSandbox()
    mkdirSync(other.at('d'))
    await session.close()
    for (const change of [() => session.openFile(other.at('d/a')), () => session.closeFile(other.at('d/a'))]) {
      expect(change).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining('closed') }))
    }
  })
})
