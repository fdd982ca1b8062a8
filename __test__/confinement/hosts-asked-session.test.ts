// docs/contract.md: hosts of `sandbox.network.ask` in a session
import { processTools, type Prompt, type PromptDecision, type PromptRequest, type Rule, type SessionOptions } from 'toolwright/contract'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/processes.ts'
import { allowAll, dataOf, failureOf, openScene } from '../contract/scene.ts'
import { isHeld, serveHosts } from './asking-host.ts'

const denial = { layer: 'network', subject: 'a.ask.test:80', option: 'sandbox.network.ask' }
const command = 'curl -sS http://a.ask.test/ 2>/dev/null || echo no'
const SOON = 5_000

/** Rules that allow every command, and are about no host but those of `more`. */
const permissions = (more: Rule[] = []): Rule[] => [...allowAll.map((rule) => ({ ...rule, permission: 'shell.run' })), ...more]

interface SceneOptions extends Partial<SessionOptions> {
  rules?: Rule[]
  hosts?: string[]
}

/** A session with a prompt that `answer` answers; without it, nobody ever does. */
async function askingScene(answer?: (request: PromptRequest) => PromptDecision, { rules, hosts, host, ...options }: SceneOptions = {}) {
  const { network, visits } = await serveHosts()
  const requests: PromptRequest[] = []
  const prompt: Prompt = (request) => (requests.push(request), answer?.(request) ?? new Promise(() => undefined))
  const requires = {
    fs: { read: ['/**'], write: ['{workspace}/**'] },
    net: { hosts: hosts ?? ['*.ask.test'] },
    shell: [{ cmd: '*' }],
  }
  const manifest = { name: 'asked', permissions: permissions(rules), requires }
  const scene = await openScene({ manifest, sandbox: { network }, host: { prompt, ...host }, ...options } as never)
  const question = async (number = 0): Promise<PromptRequest> => {
    await expect.poll(() => requests.length, { timeout: 10_000, interval: 10 }).toBeGreaterThan(number)
    return requests[number] as PromptRequest
  }
  return { ...scene, requests, question, visits }
}

describe.skipIf(!isHeld)('a command of a session that connects to a host of `ask`', { timeout: 60_000 }, () => {
  test('asks the prompt with its call, and an answer for once is for this call', async () => {
    const { call, requests } = await askingScene(() => 'allow_once')
    for (let run = 0; run < 2; run += 1) {
      expect(dataOf(await call('bash', { command: `${command}; ${command}` }))).toMatchObject({ stdout: 'a.ask.test /\na.ask.test /\n' })
      expect(requests).toHaveLength(run + 1)
    }
    expect(requests[0]).toMatchObject({
      tool: 'bash',
      subjects: [{ capability: 'net.fetch', resource: 'a.ask.test:80' }],
      rules: [{ permission: 'net.fetch', pattern: 'a.ask.test:80' }],
    })
  })

  test('is refused by a no, and a no for always is a rule', async () => {
    const { call, requests, visits } = await askingScene(() => 'reject_always')
    for (let run = 0; run < 2; run += 1) {
      const envelope = await call('bash', { command })
      expect(dataOf(envelope)).toMatchObject({ stdout: 'no\n' })
      expect(envelope.metadata.denials).toContainEqual(denial)
    }
    expect(requests).toHaveLength(1)
    expect(visits).toEqual([])
  })

  test('is not asked about where a rule decides, or where the capabilities do not open it', async () => {
    const allowed = await askingScene(() => 'reject_once', {
      rules: [{ permission: 'net.fetch', pattern: 'a.ask.test:80', action: 'allow' }],
    })
    expect(dataOf(await allowed.call('bash', { command }))).toMatchObject({ stdout: 'a.ask.test /\n' })
    const denied = await askingScene(() => 'allow_once', { rules: [{ permission: 'net.fetch', pattern: 'a.ask.test:80', action: 'deny' }] })
    const envelope = await denied.call('bash', { command: `${command}; exit 3` })
    expect(envelope.metadata.denials).toContainEqual(denial)
    const closed = await askingScene(() => 'allow_once', { hosts: ['other.test'] })
    const { metadata } = await closed.call('bash', { command: `${command}; exit 3` })
    expect(metadata.denials).toContainEqual({ layer: 'network', subject: 'a.ask.test', option: 'net.hosts' })
    for (const { requests } of [allowed, denied, closed]) expect(requests).toEqual([])
    for (const { visits } of [denied, closed]) expect(visits).toEqual([])
  })

  test('ends with the abort of its call, and the prompt is given up', async () => {
    const { call, question, visits } = await askingScene()
    const run = new AbortController()
    const aborted = call('bash', { command }, { signal: run.signal })
    const { signal } = await question()
    const since = performance.now()
    run.abort(new Error('enough'))
    expect(failureOf(await aborted).code).toBe('aborted')
    expect(performance.now() - since).toBeLessThan(SOON)
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
    expect(visits).toEqual([])
  })

  test('ends at its time limit if nobody answers', async () => {
    const { call, question } = await askingScene()
    const envelope = await call('bash', { command, timeout_ms: 1_000 })
    expect(dataOf(envelope)).toMatchObject({ timed_out: true })
    expect(envelope.metadata.denials).toContainEqual(denial)
    const { signal } = await question()
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
  })

  test('goes on without the host where nobody answers in time, or nobody is there', async () => {
    for (const options of [{ limits: { promptMs: 300 } }, { headless: true }, { host: { prompt: undefined } }]) {
      const { call, visits } = await askingScene(undefined, options as never)
      const envelope = await call('bash', { command: `${command}; exit 3` })
      expect(dataOf(envelope)).toMatchObject({ stdout: 'no\n', exit_code: 3 })
      expect(envelope.metadata.denials).toContainEqual(denial)
      expect(envelope.metadata.notes?.join('\n')).toContain('nobody answered')
      expect(visits).toEqual([])
    }
  })

  test('a prompt that fails, or gives no answer that is one, is a no', async () => {
    const failing = () => {
      throw new Error('no screen')
    }
    for (const answer of [failing, () => 'yes' as never, () => ({}) as never]) {
      const { call } = await askingScene(answer)
      const envelope = await call('bash', { command: `${command}; exit 3` })
      expect(dataOf(envelope)).toMatchObject({ stdout: 'no\n' })
      expect(envelope.metadata.denials).toContainEqual(denial)
    }
  })
})

describe.skipIf(!isHeld)('a command of a session that outlives its call', { timeout: 60_000 }, () => {
  test('a process asks while the call that starts it waits, and nobody after it', async () => {
    const { call, requests, visits } = await askingScene(() => 'allow_once', { tools: processTools })
    const started = await call('process_start', { command: `${command}; read line; ${command.replaceAll('a.', 'b.')}`, wait_ms: 10_000 })
    expect(dataOf(started)).toMatchObject({ process_id: 'p1', output: 'a.ask.test /\n' })
    const { output } = dataOf(await call('process_write', { process_id: 'p1', text: '\n', wait_ms: 10_000 }))
    expect(output).toContain('no')
    expect(requests.map(({ subjects: [subject] }) => subject?.resource)).toEqual(['a.ask.test:80'])
    expect(visits).toEqual(['a.ask.test /'])
  })

  test('the end of the call gives up what it asks', async () => {
    const { call, question } = await askingScene(undefined, { tools: processTools })
    const started = call('process_start', { command, wait_ms: 500 })
    const { signal } = await question()
    expect(dataOf(await started)).toMatchObject({ process_id: 'p1' })
    await expect.poll(() => signal.aborted, { timeout: SOON }).toBe(true)
    const read = async () => dataOf<{ output: string }>(await call('process_read', { process_id: 'p1', from: 0 })).output
    await expect.poll(read, { timeout: SOON }).toBe('no\n')
  })

  test('so does a timeout after which the command continues', async () => {
    const { call, question } = await askingScene(undefined, { tools: processTools, onTimeout: 'background' })
    const envelope = await call('bash', { command: `${command}; sleep 60`, timeout_ms: 700 })
    expect(envelope.metadata.notes?.join('\n')).toContain('continues as process p1')
    const { signal } = await question()
    expect(await eventually(() => signal.aborted, SOON)).toBe(true)
    const read = async () => dataOf<{ output: string }>(await call('process_read', { process_id: 'p1', from: 0 })).output
    await expect.poll(read, { timeout: SOON }).toBe('no\n')
  })
})
