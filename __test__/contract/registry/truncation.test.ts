import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createSession, defaultLimits } from 'toolwright/contract'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeSandbox } from '../../support/sandbox.ts'
import { allowAll, dataOf, failureOf, manifest, noRules, openScene, openSession, rule, testTool } from '../scene.ts'

const whole = (envelope: { metadata: object }) => expect(envelope.metadata).not.toHaveProperty('truncated')

describe('limits', () => {
  test('R19 the defaults are those of the document; KB are 1000 bytes', () => {
    expect(defaultLimits).toMatchObject({
      readBytes: 200_000,
      globEntries: 1_000,
      grepMatches: 200,
      bashBytes: 200_000,
      sidecarBytes: 64_000_000,
    })
  })

  test('R19 a limit that is none is refused', async () => {
    for (const limits of [{ readBytes: 0 }, { readBytes: NaN }, { readBytes: 1.5 }, { readBytes: -1 }, { unknown: 1 }]) {
      await expect(openScene({ limits: limits as object })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })
})

describe('read', () => {
  test('R19 R22 exactly 200,000 bytes are whole; one more is a head, the file itself, and where to go on', async () => {
    const { call, put } = await openScene()
    put('fits.txt', 'x'.repeat(200_000))
    put('more.txt', `${'x'.repeat(200_000)}y`)
    const fits = await call('read', { path: 'fits.txt' })
    expect(dataOf(fits)).toEqual({ content: 'x'.repeat(200_000) })
    whole(fits)
    const more = await call('read', { path: 'more.txt' })
    expect(dataOf(more)).toEqual({ head: 'x'.repeat(200_000), next_offset: 200_000 })
    expect(more.metadata).toMatchObject({ truncated: true, output_path: 'more.txt' })
    expect(dataOf(await call('read', { path: more.metadata.output_path, offset: 200_000 }))).toEqual({ content: 'y', offset: 200_000 })
  })

  test('R20 R22 a head ends between two characters, and the parts make the whole', async () => {
    const text = 'aé€😀'.repeat(2_000)
    const { call, put } = await openScene({ limits: { readBytes: 1_001 } })
    put('a.txt', text)
    let offset: number | undefined = 0
    let all = ''
    let parts = 0
    while (offset !== undefined) {
      const data: { content?: string; head?: string; next_offset?: number } = dataOf(await call('read', { path: 'a.txt', offset }))
      const part = data.content ?? data.head ?? ''
      expect(part).not.toContain('�')
      all += part
      offset = data.next_offset
      parts += 1
    }
    expect(all).toBe(text)
    expect(parts).toBe(Math.ceil(Buffer.byteLength(text) / 1_001) + (Buffer.byteLength(text) % 1_001 === 0 ? 0 : 0))
  })

  test('R22 a range that was asked for is no truncation', async () => {
    const { call, put } = await openScene()
    put('a.txt', 'abcdef')
    const part = await call('read', { path: 'a.txt', offset: 1, limit: 2 })
    expect(dataOf(part)).toEqual({ content: 'bc', offset: 1, next_offset: 3 })
    whole(part)
  })
})

describe('sidecars', () => {
  test('R18 R20 what does not fit is whole in a private file of the session, its beginning in the envelope', async () => {
    const text = '€'.repeat(100)
    const { call } = await openScene({ tools: [testTool('long', () => text)], limits: { outputBytes: 100 } })
    const cut = await call('long', {}, { callId: 'call_1' })
    const { output_path = '', truncated } = cut.metadata
    expect(truncated).toBe(true)
    expect(dataOf(cut)).toEqual({ head: '€'.repeat(33) })
    expect(basename(output_path)).toBe('long-output-call_1')
    expect(readFileSync(output_path, 'utf8')).toBe(text)
    expect(statSync(output_path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(output_path)).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(dirname(output_path))).mode & 0o777).toBe(0o700)
  })

  test('R18 R20 what cannot be kept is lost, and neither the work of the tool nor what is there already', async () => {
    const { call, session, outside } = await openScene({ tools: [testTool('long', () => 'x'.repeat(200))], limits: { outputBytes: 100 } })
    const directory = dirname(session.scratch)
    writeFileSync(join(directory, 'long-output-file'), 'kept')
    writeFileSync(join(outside, 'file'), 'kept')
    symlinkSync(join(outside, 'file'), join(directory, 'long-output-link'))
    const lost = async (callId: string): Promise<void> => {
      const cut = await call('long', {}, { callId })
      expect(dataOf(cut).head).toMatch(/^x{100}\n\[The rest is lost: .+\]$/u)
      expect(cut.metadata).toMatchObject({ truncated: true, code: 'ok' })
      expect(cut.metadata).not.toHaveProperty('output_path')
    }
    await lost('file')
    await lost('link')
    expect([join(directory, 'long-output-file'), join(outside, 'file')].map((path) => readFileSync(path, 'utf8'))).toEqual(['kept', 'kept'])
    rmSync(directory, { recursive: true })
    await lost('any')
  })

  test('R18 data that is no text is cut as its JSON', async () => {
    const { call } = await openScene({
      tools: [testTool('list', () => Array.from({ length: 100 }, (_, n) => n))],
      limits: { outputBytes: 50 },
    })
    const cut = await call('list', {})
    expect(dataOf(cut)).toEqual({ head: JSON.stringify(Array.from({ length: 100 }, (_, n) => n)).slice(0, 50) })
    expect(JSON.parse(readFileSync(cut.metadata.output_path ?? '', 'utf8'))).toHaveLength(100)
  })

  test('R20 a sidecar is cut at its own limit, and its last line says so', async () => {
    const { call } = await openScene({
      tools: [testTool('long', () => 'é'.repeat(5_000))],
      limits: { outputBytes: 100, sidecarBytes: 1_000 },
    })
    const text = readFileSync((await call('long', {})).metadata.output_path ?? '', 'utf8')
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000)
    expect(text.trimEnd().split('\n').at(-1)).toMatch(/10000 bytes.*1000/u)
    expect(text).not.toContain('�')
  })

  test('R20 the same call id again, and ids that are no file names, lead to files of their own', async () => {
    const { call } = await openScene({ tools: [testTool('long', () => 'x'.repeat(200))], limits: { outputBytes: 100 } })
    const paths = new Set<string>()
    const ids = ['same', 'same', '../../up', '/etc/passwd', 'a/b', '..', 'x'.repeat(500), 'nul\0', 'é']
    for (const callId of ids) paths.add((await call('long', {}, { callId })).metadata.output_path ?? '')
    expect(paths.size).toBe(ids.length)
    expect(new Set([...paths].map(dirname)).size).toBe(1)
  })

  test('R20 a call that makes no file leaves its name to the next one', async () => {
    let text = 'short'
    const { call, put } = await openScene({ tools: [testTool('long', () => text)], limits: { outputBytes: 100, bashBytes: 100 } })
    put('a.txt', 'needle\n')
    for (const [tool, args] of [
      ['long', {}],
      ['bash', { command: 'true' }],
      ['grep', { pattern: 'needle' }],
      ['glob', { pattern: '*' }],
    ] as const) {
      whole(await call(tool, args, { callId: 'same' }))
    }
    text = 'x'.repeat(200)
    const names: string[] = []
    for (let nth = 0; nth < 3; nth += 1) names.push(basename((await call('long', {}, { callId: 'same' })).metadata.output_path ?? ''))
    const printed = await Promise.all([1, 2].map(() => call('bash', { command: 'printf %0200d 1' }, { callId: 'same' })))
    names.push(...printed.map(({ metadata }) => basename(metadata.output_path ?? '')).sort())
    expect(names).toEqual(['long-output-same', 'long-output-same.2', 'long-output-same.3', 'bash-output-same', 'bash-output-same.2'])
  })

  test('R21 the session reads its own sidecars without a rule; the manifest can still close them', async () => {
    const tools = [testTool('long', () => 'x'.repeat(200))]
    const open = await openScene({ ...noRules, tools, limits: { outputBytes: 100 } })
    const { output_path } = (await open.call('long', {})).metadata
    expect(dataOf(await open.call('read', { path: output_path, offset: 100 }))).toEqual({ content: 'x'.repeat(100), offset: 100 })
    const closed = await openScene({ ...manifest([rule('read /** deny'), rule('long * allow')]), tools, limits: { outputBytes: 100 } })
    const other = (await closed.call('long', {})).metadata.output_path
    expect(failureOf(await closed.call('read', { path: other })).code).toBe('permission_denied')
  })

  test("R21 another session's sidecar is refused, for bash too; its own cannot be written", async () => {
    const tools = [testTool('long', () => 'secret '.repeat(50))]
    const one = await openScene({ tools, limits: { outputBytes: 100 } })
    const { output_path = '' } = (await one.call('long', {})).metadata
    const two = await openScene()
    expect(failureOf(await two.call('read', { path: output_path })).code).toBe('capability_refused')
    const shown = await two.call('bash', { command: `cat '${output_path}'` })
    expect(JSON.stringify(shown)).not.toContain('secret ')
    expect(failureOf(await one.call('write', { path: output_path, content: 'x' })).code).toBe('capability_refused')
  })

  test("R21 where other sessions' files lie below the workspace, they are closed all the same", async () => {
    const fixture = makeSandbox()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = fixture.root
    onTestFinished(() => {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    })
    const tools = [testTool('long', () => 'secret '.repeat(50))]
    const one = await openScene({ tools, limits: { outputBytes: 100 } })
    const { output_path = '' } = (await one.call('long', {})).metadata
    const base = dirname(dirname(output_path))
    const two = await openScene({ workspace: base, tools, limits: { outputBytes: 100 } })
    const own = (await two.call('long', {})).metadata.output_path
    expect(failureOf(await two.call('read', { path: output_path })).code).toBe('capability_refused')
    expect(failureOf(await two.call('grep', { pattern: 'secret', path: output_path })).code).toBe('capability_refused')
    expect(failureOf(await two.call('grep', { pattern: 'secret' })).code).toBe('capability_refused')
    const wide = await openScene({ workspace: dirname(base) })
    fixture.put('open.txt', 'secret\n')
    for (const pattern of ['**', `${basename(base)}/**`]) {
      expect(JSON.stringify(dataOf(await wide.call('glob', { pattern })))).not.toContain('long-output')
    }
    expect(dataOf(await wide.call('grep', { pattern: 'secret' })).matches).toEqual([{ path: 'open.txt', line: 1, text: 'secret' }])
    expect(dataOf(await wide.call('bash', { command: `cat '${output_path}' open.txt` })).stdout).toBe('secret\n')
    expect(dataOf(await two.call('read', { path: own, limit: 6 })).content).toBe('secret')
  })

  test('R21 they are gone when the session is closed', async () => {
    const { call, session } = await openScene({ tools: [testTool('long', () => 'x'.repeat(200))], limits: { outputBytes: 100 } })
    const directory = dirname((await call('long', {})).metadata.output_path ?? '')
    expect(readdirSync(directory).filter((name) => name.startsWith('long-'))).toHaveLength(1)
    await session.close()
    expect(() => statSync(directory)).toThrow(/ENOENT/u)
  })

  test('R21 a link that was put into the directory is removed and not followed', async () => {
    const { call, session, root, put } = await openScene({ tools: [testTool('long', () => 'x'.repeat(200))], limits: { outputBytes: 100 } })
    put('keep/me.txt', 'kept')
    const directory = dirname((await call('long', {})).metadata.output_path ?? '')
    symlinkSync(join(root, 'keep'), join(directory, 'link'))
    symlinkSync(join(root, 'keep/me.txt'), join(directory, 'long-output-next'))
    // The name is taken: nothing is written through it.
    const taken = await call('long', {}, { callId: 'next' })
    expect(taken.metadata).not.toHaveProperty('output_path')
    await session.close()
    expect(readFileSync(join(root, 'keep/me.txt'), 'utf8')).toBe('kept')
  })

  test('R21 what a killed process left is removed, what a living one has is not', async () => {
    const { session, call } = await openScene({ tools: [testTool('long', () => 'x'.repeat(200))], limits: { outputBytes: 100 } })
    const mine = dirname((await call('long', {})).metadata.output_path ?? '')
    const [namespace] = basename(mine).split('-')
    const base = dirname(mine)
    const dead = join(base, `${namespace}-4194304-dead-x`)
    const foreign = join(base, `99-4194304-dead-y`)
    for (const path of [dead, foreign]) {
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, 'left'), 'x')
    }
    // On a thread of its own, behind the session; one that meets another one at work leaves it to that.
    const next = async (): Promise<string[]> => {
      const other = await createSession({ workspace: dirname(mine), manifest: { name: 'other', permissions: allowAll } })
      await other.close()
      return readdirSync(base)
    }
    await expect.poll(next, { timeout: 10_000 }).not.toContain(basename(dead))
    expect(readdirSync(base)).toContain(basename(mine))
    expect(readdirSync(base)).toContain(basename(foreign))
    rmSync(foreign, { recursive: true })
    await session.close()
  })
})

describe('glob, grep and bash', () => {
  test('R19 R27 exactly 1000 entries are whole, one more is truncated', async () => {
    const { call, put, at } = await openScene()
    for (let n = 0; n < 1_000; n += 1) put(`d/${String(n).padStart(4, '0')}.txt`, '')
    const fits = await call('glob', { pattern: 'd/*.txt' })
    expect(dataOf(fits).entries).toHaveLength(1_000)
    whole(fits)
    writeFileSync(at('d/1000.txt'), '')
    const more = await call('glob', { pattern: 'd/*.txt' })
    expect(dataOf(more).head.split('\n')).toHaveLength(1_000)
    expect(more.metadata.truncated).toBe(true)
    const { output_path } = more.metadata
    expect(
      dataOf(await call('read', { path: output_path }))
        .content.trimEnd()
        .split('\n'),
    ).toHaveLength(1_001)
  })

  test('R19 R28 exactly 200 matches are whole, one more is truncated', async () => {
    const { call, put } = await openScene()
    put('a.txt', 'hit\n'.repeat(200))
    const fits = await call('grep', { pattern: 'hit' })
    expect(dataOf(fits).matches).toHaveLength(200)
    whole(fits)
    put('b.txt', 'hit\n')
    const more = await call('grep', { pattern: 'hit' })
    expect(dataOf(more)).toMatchObject({ head: expect.stringMatching(/^a\.txt:1:hit\n/u) })
    expect([dataOf(more).head, dataOf(more).tail].map((end: string) => end.split('\n').length)).toEqual([100, 100])
    expect(dataOf(more).tail).toMatch(/\nb\.txt:1:hit$/u)
    expect(
      dataOf(await call('read', { path: more.metadata.output_path }))
        .content.trimEnd()
        .split('\n'),
    ).toHaveLength(201)
  })

  test('R19 R29 exactly 200,000 bytes of both outputs are whole, one more is truncated', async () => {
    const { call } = await openScene()
    const print = (out: number, err: number) => `head -c ${out} /dev/zero | tr '\\0' a; head -c ${err} /dev/zero | tr '\\0' b >&2`
    const fits = await call('bash', { command: print(150_000, 50_000) })
    expect(dataOf(fits)).toMatchObject({ exit_code: 0 })
    expect(dataOf(fits).stdout.length + dataOf(fits).stderr.length).toBe(200_000)
    whole(fits)
    const more = await call('bash', { command: print(150_000, 50_001) })
    expect([dataOf(more).head.length, dataOf(more).tail.length, dataOf(more).left_out_bytes]).toEqual([100_000, 100_000, 1])
    expect(dataOf(more)).not.toHaveProperty('stdout')
    expect(dataOf(more)).toMatchObject({ exit_code: 0, timed_out: false })
    expect(statSync(more.metadata.output_path ?? '').size).toBe(200_001)
  })

  test('R29 the sidecar has both outputs in the order of arrival', async () => {
    const { call } = await openScene({ limits: { bashBytes: 6 } })
    const cut = await call('bash', { command: 'printf one; sleep 0.1; printf two >&2; sleep 0.1; printf three' })
    expect(dataOf(cut).head).toBe('onetwo')
    expect(readFileSync(cut.metadata.output_path ?? '', 'utf8')).toBe('onetwothree')
  })
})

test('R21 files of a session are removed when its process ends without closing it', async () => {
  const fixture = await openScene()
  const script = `
    import { createSession } from 'toolwright/contract'
    const tool = { id: 'long', description: 'x', parameters: { type: 'object' }, requires: {}, execute: () => 'x'.repeat(500) }
    const session = await createSession({ workspace: ${JSON.stringify(fixture.root)}, manifest: { name: 'x' }, tools: [tool], limits: { outputBytes: 100 } })
    console.log((await session.call('long', {})).metadata.output_path)
    process.exit(0)
  `
  const { execFileSync } = await import('node:child_process')
  const path = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: process.cwd(), encoding: 'utf8' }).trim()
  expect(path).toContain('long-output-')
  expect(() => statSync(dirname(path))).toThrow(/ENOENT/u)
  await openSession(fixture)
})
