import { createTools, type CreateToolsOptions, openJournal, ToolError } from 'toolwright'
import { providerExecutors } from 'toolwright/providers'
import { createSandboxSession } from 'toolwright/sandbox'
import { afterEach, describe, expect, test } from 'vitest'
import { allowAll, openSession } from '../../contract/scene.ts'
import { makeSandbox } from '../../support/sandbox.ts'

const VALUE = 'x7Gk29QmZp41-a8Kd93jfKq02'
const TOKEN = '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'

const changed: string[] = []
function setVariable(name: string, value: string): void {
  changed.push(name)
  process.env[name] = value
}
afterEach(() => {
  for (const name of changed.splice(0)) delete process.env[name]
})

/** A root with a file that holds the value, as `.env` of a project often does. */
function place() {
  setVariable('DEPLOY_TOKEN', VALUE)
  const sandbox = makeSandbox()
  sandbox.put('.env', `DEPLOY_TOKEN=${VALUE}\n`)
  sandbox.put('plain.txt', 'nothing here, in production since 2024-06-01\n')
  sandbox.put('token.txt', `one ${TOKEN}\n`)
  return sandbox
}

const print = { cmd: 'cat', args: ['.env'] }
const MASKED = 'DEPLOY_TOKEN=[DEPLOY_TOKEN]\n'

function tools(options: Omit<CreateToolsOptions, 'streamOutput'> = {}) {
  return createTools({ rootDir: place().root, ...options, streamOutput: false })
}

describe('Masks: createTools', () => {
  test('the value of a variable that is withheld stands as its name, and a note tells the model', async () => {
    const { bash } = tools()
    const call = { toolCallId: 'c1' }
    const output = await bash.execute(print, call)
    expect(output).toBe(MASKED)
    const shown = (await bash.toModelOutput?.({ toolCallId: 'c1', input: print, output })) as { value: string }
    expect(shown.value).toBe(`${MASKED}[DEPLOY_TOKEN] stands for a secret that is masked here, in 1 place.`)
  })

  test('an output without a secret is the same', async () => {
    expect(await tools().bash.execute({ cmd: 'cat', args: ['plain.txt'] })).toBe('nothing here, in production since 2024-06-01\n')
  })

  test.each([
    ['false', false, `DEPLOY_TOKEN=${VALUE}\n`],
    ['known', 'known', MASKED],
    ['tokens', 'tokens', MASKED],
    ['an object', { tokens: true }, MASKED],
  ] as const)('mask: %s', async (_, mask, expected) => {
    expect(await tools({ mask }).bash.execute(print)).toBe(expected)
  })

  test('what the host passes to commands is not masked', async () => {
    expect(await tools({ env: { allow: ['DEPLOY_TOKEN'] } }).bash.execute(print)).toBe(`DEPLOY_TOKEN=${VALUE}\n`)
    expect(await tools({ env: 'inherit' }).bash.execute(print)).toBe(`DEPLOY_TOKEN=${VALUE}\n`)
  })

  test('tokens by their formats, only if that is asked for', async () => {
    const read = { cmd: 'cat', args: ['token.txt'] }
    expect(await tools().bash.execute(read)).toBe(`one ${TOKEN}\n`)
    expect(await tools({ mask: 'tokens' }).bash.execute(read)).toBe('one [GITHUB_TOKEN]\n')
  })

  test('secrets of the host, in base 64 too', async () => {
    const mask = { values: { VAULT_PASSWORD: 'correct horse' } }
    const { bash } = tools({ mask })
    expect(await bash.execute({ cmd: 'echo', args: ['it is correct horse'] })).toBe('it is [VAULT_PASSWORD]\n')
    const encoded = Buffer.from('user:correct horse').toString('base64')
    expect(await bash.execute({ cmd: 'echo', args: [encoded] })).toMatch(/^dXNlcj\w*\[VAULT_PASSWORD\]\S*\n$/u)
  })

  test('a failed command: its text, its details and its hint', async () => {
    const error = await tools()
      .bash.execute({ cmd: 'sh', args: ['-c', 'cat .env; exit 3'] })
      .catch((thrown: unknown) => thrown)
    expect(ToolError.isInstance(error)).toBe(true)
    const { message, details, hint } = error as ToolError
    expect(message).not.toContain(VALUE)
    expect(details).toMatchObject({ output: MASKED, masked: [{ name: 'DEPLOY_TOKEN', count: 1 }] })
    expect(hint).toContain('[DEPLOY_TOKEN] stands for a secret')
  })

  test('live output, where the value comes in two writes', async () => {
    const half = VALUE.slice(0, 9)
    const script = `printf 'a %s' '${half}'; sleep 0.2; printf '%s\\n' '${VALUE.slice(9)}'`
    const { bash } = createTools({ rootDir: place().root, streamOutput: true })
    const parts: string[] = []
    for await (const text of bash.execute({ cmd: 'sh', args: ['-c', script] }) as AsyncIterable<string>) parts.push(text)
    expect(parts.at(-1)).toBe('a [DEPLOY_TOKEN]\n')
    for (const part of parts) expect(part).not.toContain(half)
  })

  test('rows of a journal', async () => {
    const { root, at } = place()
    const journal = await openJournal(`file:${at('../outside/runs.db')}`)
    const { bash } = createTools({ rootDir: root, journal, runId: 'run-1' })
    await bash.execute(print, { toolCallId: 'c1' })
    await bash.execute({ cmd: 'sh', args: ['-c', 'cat .env >&2; exit 1'] }, { toolCallId: 'c2' }).catch(() => undefined)
    const rows = JSON.stringify(await journal.listRun('run-1'))
    await journal.close()
    expect(rows).toContain('[DEPLOY_TOKEN]')
    expect(rows).not.toContain(VALUE)
  })

  test('what cannot be meant is refused', () => {
    const refused = (mask: unknown): unknown => {
      try {
        return tools({ mask: mask as never })
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(refused('all')).toMatch(/mask must be 'known', 'tokens', false or \{ tokens, values \}/u)
    expect(refused({ values: { A: 'short' } })).toMatch(/mask\.values\.A is shorter than 8 characters/u)
    expect(refused({ values: ['x7Gk29QmZp41'] })).toMatch(/mask\.values must be an object/u)
    expect(refused({ names: [] })).toMatch(/mask\.names is no option/u)
  })
})

describe.runIf(process.platform === 'linux')('Masks: processes', () => {
  test('the output of a process that goes on, with a note in the report', async () => {
    const {
      process_start: start,
      process_read: read,
      process_stop: stop,
    } = tools({ processes: true }) as never as Record<
      string,
      { execute(input: object): Promise<{ output: string; notes?: string[]; process_id: string; next: number }> }
    >
    const started = await start!.execute({ command: `printf 'a ${VALUE.slice(0, 9)}'; sleep 0.3; printf '${VALUE.slice(9)}\\n'; sleep 30` })
    let output = started.output
    let notes = started.notes ?? []
    for (let turn = 0; turn < 20 && !output.includes('\n'); turn += 1) {
      // eslint-disable-next-line no-await-in-loop -- one look after the other
      const next = await read!.execute({ process_id: started.process_id, wait_ms: 500 })
      output += next.output
      notes = [...notes, ...(next.notes ?? [])]
    }
    await stop!.execute({ process_id: started.process_id })
    expect(output).toBe('a [DEPLOY_TOKEN]\n')
    expect(notes).toContain('[DEPLOY_TOKEN] stands for a secret that is masked here, in 1 place.')
  })
})

describe('Masks: the other doors', () => {
  test('a session of the contract: data, notes and counts', async () => {
    const session = await openSession(place(), { manifest: { name: 'test', permissions: allowAll } })
    const envelope = await session.call('bash', { command: 'cat .env' })
    expect(envelope).toMatchObject({ type: 'output', data: { stdout: MASKED } })
    expect(envelope.metadata).toMatchObject({
      notes: ['[DEPLOY_TOKEN] stands for a secret that is masked here, in 1 place.'],
      masked: [{ name: 'DEPLOY_TOKEN', count: 1 }],
    })
  })

  test('a sandbox session: results of commands, and files as they are', async () => {
    const { root } = place()
    const session = createSandboxSession({ rootDir: root })
    try {
      const { stdout } = await session.run({ command: 'cat .env' })
      expect(stdout).toBe(MASKED)
      expect(await session.readTextFile({ path: '.env' })).toBe(`DEPLOY_TOKEN=${VALUE}\n`)
    } finally {
      await session.close()
    }
  })

  test('executors of providers', async () => {
    const { root } = place()
    const { openai } = providerExecutors({ rootDir: root })
    const { output } = await openai.shell({ action: { commands: ['cat .env'] } })
    expect(output[0]?.stdout).toContain(MASKED)
    expect(JSON.stringify(output)).not.toContain(VALUE)
  })
})
