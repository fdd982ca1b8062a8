// docs/tools.md, "Grants for one command"
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ToolLoopAgent } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import {
  type BashGrant,
  type CreateToolsOptions,
  createTools,
  type GrantQuestion,
  openJournal,
  sandboxReport,
  type ToolError,
} from 'toolwright'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/processes.ts'
import { script } from '../support/scripted-model.ts'
import { closedPlace } from './stage/programs.ts'

const report = await sandboxReport()
const isConfined = process.platform === 'linux' && report.files.level === 'kernel'

/** A root, and directories beside it that commands cannot write. */
function makeScene() {
  mkdirSync(closedPlace, { recursive: true })
  const base = realpathSync(mkdtempSync(join(closedPlace, 'grants-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  for (const name of ['root', 'shared', 'other', 'secret']) mkdirSync(join(base, name))
  writeFileSync(join(base, 'secret/key'), 'key')
  return { root: join(base, 'root'), at: (path: string): string => join(base, path) }
}

type Answer = (question: GrantQuestion) => unknown

function commands(scene: { root: string }, answer: Answer | undefined, options: Partial<CreateToolsOptions> = {}) {
  const asked: GrantQuestion[] = []
  const onGrant = answer && ((question: GrantQuestion) => (asked.push(question), answer(question) as never))
  const { bash } = createTools({ rootDir: scene.root, onGrant, ...options } as CreateToolsOptions & { streamOutput?: false })
  const run = async (line: string, grant?: BashGrant, signal?: AbortSignal): Promise<string> =>
    String(await bash.execute({ cmd: 'sh', args: ['-c', line], ...(grant && { grant }) }, { ...(signal && { abortSignal: signal }) }))
  const refused = (line: string, grant?: BashGrant): Promise<ToolError> =>
    run(line, grant).then(
      (output) => expect.fail(`it succeeded: ${output}`),
      (error: ToolError) => error,
    )
  return { bash, run, refused, asked }
}

describe.skipIf(!isConfined)('a grant for one command', { timeout: 60_000 }, () => {
  test('opens one directory for one command, and the question has the real path and the command', async () => {
    const scene = makeScene()
    symlinkSync(scene.at('shared'), join(scene.root, 'link'))
    const { run, refused, asked } = commands(scene, () => 'allow_once')
    const write = `echo text > ${scene.at('shared/new')}`
    expect((await refused(write)).code).toBe('TOOL_COMMAND_FAILED')
    await run(write, { writable: 'link' })
    expect(readFileSync(scene.at('shared/new'), 'utf8')).toBe('text\n')
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ grant: 'writable', subject: scene.at('shared'), cmd: 'sh', args: ['-c', write], cwd: '.' })
    expect((await refused(`echo again > ${scene.at('shared/new')}`)).code).toBe('TOOL_COMMAND_FAILED')
    expect((await refused(`echo text > ${scene.at('other/new')}`, { writable: scene.at('shared') })).code).toBe('TOOL_COMMAND_FAILED')
    expect(readFileSync(scene.at('shared/new'), 'utf8')).toBe('text\n')
  })

  test('opens one credential store to read, and not to write', async () => {
    const scene = makeScene()
    const home = process.env['HOME']
    onTestFinished(() => void (process.env['HOME'] = home))
    process.env['HOME'] = scene.at('home')
    mkdirSync(scene.at('home/.aws'), { recursive: true })
    const path = scene.at('home/.aws/credentials')
    writeFileSync(path, 'key')
    const { run, refused, asked } = commands(scene, () => 'allow_once')
    // A closed store is not there for commands.
    await refused(`cat ${path}`)
    expect(await run(`cat ${path}`, { readable: '~/.aws/credentials' })).toBe('key')
    expect(asked.map(({ grant, subject }) => `${grant} ${subject}`)).toEqual([`readable ${path}`])
    await refused(`cat ${path}`)
    await refused(`echo x > ${path}`, { readable: path })
    expect((await refused('true', { writable: scene.at('home/.aws') })).code).toBe('TOOL_GRANT_REFUSED')
    expect(readFileSync(path, 'utf8')).toBe('key')
  })

  test('opens one path where only the system is read', async () => {
    const scene = makeScene()
    const { run, refused } = commands(scene, () => 'allow_once', { sandbox: { readScope: 'system' } })
    const grant = { readable: scene.at('secret/key') }
    await refused(`cat ${grant.readable}`)
    expect(await run(`cat ${grant.readable}`, grant)).toBe('key')
    await refused(`ls ${scene.at('other')}`, grant)
  })

  test('leaves the rest of the sandbox as it is', async () => {
    const scene = makeScene()
    const { run } = commands(scene, () => 'allow_once', { networkGuard: 'off', sandbox: { denyRead: [scene.at('secret')] } })
    execFileSync('git', ['init', '--quiet', scene.root])
    const tries = [`cat ${scene.at('secret/key')}`, `echo x > ${scene.at('other/x')}`, 'curl -sS --max-time 2 http://192.0.2.1/']
    const hook = join(scene.root, '.git/hooks/pre-commit')
    const line = tries.map((attempt) => `(${attempt}) 2>/dev/null && echo OPEN`).join('; ')
    expect(await run(`${line}; true`, { writable: scene.at('shared') })).not.toContain('OPEN')
    await run('echo x > .git/hooks/pre-commit', { writable: scene.at('shared') })
    expect(existsSync(hook)).toBe(false)
  })

  test('the error of a refusal names the grant that would open it', async () => {
    const scene = makeScene()
    const { refused, run } = commands(scene, () => 'allow_once')
    const error = await refused(`touch ${scene.at('shared/new')}`)
    const grant = { writable: scene.at('shared') }
    expect(error.hint).toContain(`repeat the call with grant: ${JSON.stringify(grant)}.`)
    expect(error.message).toContain(error.hint)
    await run(`touch ${scene.at('shared/new')}`, grant)
    expect((await refused('exit 3')).hint).not.toContain('grant')
    expect((await commands(scene, undefined).refused(`touch ${scene.at('shared/new')}`)).hint).not.toContain('grant')
  })

  test.each<[string, Answer]>([
    ['rejects', () => 'reject_once'],
    ['fails', () => Promise.reject(new Error('no screen'))],
    [
      'throws',
      () => {
        throw new Error('no screen')
      },
    ],
    ['gives no valid answer', () => true],
    ['gives an answer for always', () => 'allow_always'],
  ])('is refused if onGrant %s, and nothing runs', async (_, answer) => {
    const scene = makeScene()
    const { refused } = commands(scene, answer)
    const error = await refused('touch ran', { writable: scene.at('shared') })
    expect(error.code).toBe('TOOL_GRANT_REFUSED')
    expect(error.details).toMatchObject({ grant: 'writable', subject: scene.at('shared') })
    expect(() => statSync(join(scene.root, 'ran'))).toThrow('ENOENT')
  })

  test('what the options deny, what is open already and what is too wide is refused without a question', async () => {
    const scene = makeScene()
    const { refused, asked } = commands(scene, () => 'allow_once', {
      sandbox: { denyRead: [scene.at('secret')], network: { allow: ['open.test'], deny: ['bad.test'] } },
    })
    for (const grant of [
      { writable: '/' },
      { writable: scene.at('.') },
      { writable: scene.root },
      { writable: scene.at('secret') },
      { writable: scene.at('absent') },
      { readable: scene.at('secret/key') },
      { readable: scene.at('shared') },
      { network: 'bad.test:443' },
      { network: 'open.test' },
      { network: '*' },
      { network: '127.0.0.1:22' },
    ]) {
      const error = await refused('touch ran', grant)
      expect(error.code, JSON.stringify(grant)).toBe('TOOL_GRANT_REFUSED')
      expect(error.hint).not.toBe('')
    }
    expect(asked).toEqual([])
    expect(() => statSync(join(scene.root, 'ran'))).toThrow('ENOENT')
  })

  test.each([{}, { writable: '/a', readable: '/b' }, { writable: '' }, { writable: 1 }, { all: true }, 'root'])(
    'must be exactly one: %j',
    async (grant) => {
      const { refused, asked } = commands(makeScene(), () => 'allow_once')
      expect((await refused('true', grant as BashGrant)).code).toBe('INVALID_INPUT')
      expect(asked).toEqual([])
    },
  )

  test.each([
    ['args that are no array', { cmd: 'true', args: 5 }],
    ['args that are a text', { cmd: 'true', args: 'abc' }],
    ['an argument that is no text', { cmd: 'true', args: [5] }],
    ['a program that is no text', { cmd: 5 }],
    ['a NUL byte', { cmd: 'tr\0ue' }],
    ['a grant that is too long', { cmd: 'true', grant: { readable: 'x'.repeat(5_000) } }],
  ])('nobody is asked about a command that cannot run: %s', async (_, input) => {
    const scene = makeScene()
    const { bash, asked } = commands(scene, () => 'allow_once')
    const call = bash.execute({ grant: { writable: scene.at('shared') }, ...input } as never)
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(asked).toEqual([])
  })

  test('the command that runs is the one that was asked about', async () => {
    const scene = makeScene()
    const args = ['asked']
    const { bash } = commands(scene, () => ((args[0] = 'other'), 'allow_once'))
    expect(await bash.execute({ cmd: 'echo', args, grant: { writable: scene.at('shared') } })).toBe('asked\n')
  })

  test('does not hold for a directory that takes the place of the one that was asked about', async () => {
    const scene = makeScene()
    const swap = (): string => {
      renameSync(scene.at('shared'), scene.at('moved'))
      mkdirSync(scene.at('shared'))
      return 'allow_once'
    }
    const { refused } = commands(scene, swap)
    const error = await refused(`touch ran ${scene.at('shared/new')}`, { writable: scene.at('shared') })
    expect(error.code).toBe('TOOL_GRANT_REFUSED')
    expect(error.message).toContain('is another one since the user was asked')

    const link = (): string => {
      rmSync(scene.at('shared'), { recursive: true })
      symlinkSync(scene.at('other'), scene.at('shared'))
      return 'allow_once'
    }
    expect((await commands(scene, link).refused('touch ran', { writable: scene.at('shared') })).code).toBe('TOOL_GRANT_REFUSED')
    expect(() => statSync(join(scene.root, 'ran'))).toThrow('ENOENT')
  })

  test('a call that is aborted while the user thinks runs nothing', async () => {
    const scene = makeScene()
    const controller = new AbortController()
    let signal: AbortSignal | undefined
    const { run } = commands(scene, (question) => ((signal = question.signal), new Promise(() => undefined)))
    const ended = run('touch ran', { writable: scene.at('shared') }, controller.signal)
    await eventually(() => signal !== undefined)
    controller.abort(new Error('enough'))
    await expect(ended).rejects.toThrow('enough')
    expect(signal?.aborted).toBe(true)
    expect(() => statSync(join(scene.root, 'ran'))).toThrow('ENOENT')
  })

  test('calls at once have their own grants', async () => {
    const scene = makeScene()
    const { run, refused } = commands(scene, () => 'allow_once')
    const [, other] = await Promise.all([
      run(`sleep 0.3; touch ${scene.at('shared/a')}`, { writable: scene.at('shared') }),
      refused(`sleep 0.3; touch ${scene.at('shared/b')}`),
      run(`touch ${scene.at('other/c')}`, { writable: scene.at('other') }),
    ])
    expect(other.code).toBe('TOOL_COMMAND_FAILED')
    expect(() => statSync(scene.at('shared/b'))).toThrow('ENOENT')
  })

  test('is in the row of the call, and the call ends at its timeout where others go on', async () => {
    const scene = makeScene()
    await using journal = await openJournal(`file:${join(scene.at('other'), 'journal.db')}`)
    await using tools = createTools({
      rootDir: scene.root,
      journal,
      runId: 'run',
      processes: true,
      onTimeout: 'background',
      toolTimeoutMs: 1_000,
      onGrant: () => 'allow_once',
    })
    const grant = { writable: scene.at('shared') }
    await expect(tools.bash.execute({ cmd: 'sleep', args: ['20'], grant })).rejects.toMatchObject({ code: 'PROCESS_TIMEOUT' })
    const [row] = await journal.listToolCalls('run', 'agent', 0)
    expect(JSON.parse(row?.inputJson ?? '')).toMatchObject({ grant })
    expect(row).toMatchObject({ status: 'error' })
  })

  test('works with streamed output', async () => {
    const scene = makeScene()
    const { bash } = createTools({ rootDir: scene.root, streamOutput: true, onGrant: () => 'allow_once' })
    const parts: unknown[] = []
    const grant = { writable: scene.at('shared') }
    for await (const part of bash.execute({ cmd: 'sh', args: ['-c', `echo a > ${scene.at('shared/new')}; echo done`], grant }))
      parts.push(part)
    expect(parts.at(-1)).toBe('done\n')
    const ended = (async () => {
      for await (const _ of bash.execute({ cmd: 'touch', args: [scene.at('other/x')] }));
    })()
    await expect(ended).rejects.toMatchObject({ hint: expect.stringContaining('grant: {"writable"') as string })
  })

  test('an agent asks for what it was refused, with the arguments of the schema', async () => {
    const scene = makeScene()
    const command = { cmd: 'touch', args: [scene.at('shared/new')] }
    // The model stands in: it repeats the call as the error says.
    const model = new MockLanguageModelV4({
      doGenerate: script(
        [
          { tool: 'bash', input: command },
          { tool: 'bash', input: { ...command, grant: { writable: scene.at('shared') } } },
        ],
        'done',
      ),
    })
    const agent = new ToolLoopAgent({ model, tools: createTools({ rootDir: scene.root, onGrant: () => 'allow_once' }) })
    const { text } = await agent.generate({ prompt: 'go' })
    expect(text).toBe('done')
    expect(statSync(scene.at('shared/new')).isFile()).toBe(true)
  })
})

describe.skipIf(!isConfined || report.loopback.level !== 'kernel')('a grant of a host', { timeout: 60_000 }, () => {
  let server: Server
  let address: string
  beforeAll(async () => {
    server = createServer(({ headers }, response) => response.end(`hello ${headers.host}\n`))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => void server.close())

  test('opens one host and port for one command', async () => {
    const scene = makeScene()
    const addresses = { 'a.test': address, 'b.test': address }
    const { run, refused, asked } = commands(scene, () => 'allow_once', { sandbox: { network: { allow: [], addresses } } })
    const error = await refused('curl -sS http://a.test/')
    expect(error.hint).toContain('repeat the call with grant: {"network":"a.test')
    expect(await run('curl -sS http://a.test/', { network: 'a.test:80' })).toBe('hello a.test\n')
    expect(asked.map(({ grant, subject }) => `${grant} ${subject}`)).toEqual(['network a.test:80'])
    await refused('curl -sS http://b.test/', { network: 'a.test:80' })
    await refused('curl -sS http://a.test:81/', { network: 'a.test:80' })
    await refused('curl -sS http://a.test/')
  })

  test('opens nothing else where the network is blocked as a whole, and the early refusal names it', async () => {
    const scene = makeScene()
    const { refused, bash } = commands(scene, () => 'allow_once')
    const early = await bash.execute({ cmd: 'curl', args: ['https://a.test/'] }).then(
      () => expect.fail('it ran'),
      (error: ToolError) => error,
    )
    expect(early.code).toBe('TOOL_NETWORK_DISABLED')
    expect(early.hint).toContain('grant: {"network":"HOST:PORT"}')
    const { details } = await refused('curl -sS --max-time 5 http://b.test/', { network: 'a.test:80' })
    expect(details['denials']).toContainEqual({ layer: 'network', subject: 'b.test', option: 'sandbox.network.allow' })
  })

  test('keeps what was decided about hosts of ask', async () => {
    const scene = makeScene()
    const asked: string[] = []
    const network = {
      allow: [],
      ask: ['a.test'],
      addresses: { 'a.test': address, 'b.test': address },
      onAsk: ({ host }: { host: string }) => (asked.push(host), 'allow_always' as const),
    }
    const { run, refused } = commands(scene, () => 'allow_once', { sandbox: { network } })
    await run('curl -sS http://a.test/')
    expect(await run('curl -sS http://a.test/ http://b.test/', { network: 'b.test' })).toBe('hello a.test\nhello b.test\n')
    expect(asked).toEqual(['a.test'])
    expect((await refused('true', { network: 'a.test' })).message).toContain('the user is asked when a command connects to it')
  })
})
