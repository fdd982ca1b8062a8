import assert from 'node:assert/strict'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anything, boolean, callable, checked, type Checks, listOf, must, optional, parseOptions, text } from '../../core/options.js'
import { type ContractTool, copyTool } from '../registry/contract-tool.js'
import type { Envelope } from '../registry/envelope.js'
import { createSession } from '../session/create-session.js'
import type { SessionOptions } from '../session/session-options.js'
import { LimitedOutput } from '../registry/limited-output.js'
import { toolOption } from '../registry/tool-choice.js'
import { envelopeProblem } from './envelope-problem.js'
import { hostAccessDuring, hostAccessIsSeen } from './host-access.js'
import { invalidArguments, sampleOf } from './invalid-arguments.js'
import { recordingRuntime, type RecordingRuntimeOptions } from './recording-runtime.js'

/** The part of a test runner that the suite needs. Vitest, Jest, Bun and `node:test` all have it. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown
  test: {
    (name: string, run: () => Promise<void>): unknown
    /** Skips a test that cannot run here. Without it, such a test passes, and its title says so. */
    skip?: (name: string, run: () => Promise<void>) => unknown
  }
}

/** A session of the tested implementation. */
export interface ConformingSession {
  call(id: string, args: unknown, options?: { callId?: string; signal?: AbortSignal }): Promise<Envelope>
  close(): Promise<void>
}

/** Valid arguments of a tool, and the contents of its runtime. */
export interface ToolSample {
  args: unknown
  runtime?: RecordingRuntimeOptions | undefined
}

/** Options of {@link contractSuite}. */
export interface ConformanceSubject {
  /** The name in the titles of the tests. */
  name: string
  /** The tools to test. */
  tools: readonly ContractTool[]
  /** Arguments for them, by id. @default made from the schema */
  samples?: Readonly<Record<string, readonly ToolSample[]>> | undefined
  /**
   * Opens a session that offers the tools of `options.tools` and of the implementation.
   * @default createSession
   */
  open?: ((options: SessionOptions) => Promise<ConformingSession>) | undefined
  /** Whether the session already has the tools, so that `options.tools` only adds to them. @default false */
  builtIn?: boolean | undefined
}

/** What is wrong with a tool is for its tests to say. */
const someTool = must<ContractTool>((tool) => typeof tool === 'object' && tool !== null, 'a tool')

const subjectChecks = {
  name: text,
  tools: listOf(someTool, 'an array of tools'),
  samples: anything<ConformanceSubject['samples']>(),
  open: optional(callable<NonNullable<ConformanceSubject['open']>>()),
  builtIn: optional(boolean),
} satisfies Checks<ConformanceSubject>

/**
 * Defines the tests that a conforming implementation of the tool contract must pass.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid runner, tool or option.
 */
export function contractSuite(runner: TestRunner, subject: ConformanceSubject): void {
  checked('contractSuite', () => {
    callable()(runner?.describe, 'describe of the runner')
    callable()(runner.test, 'test of the runner')
  })
  const own = parseOptions('contractSuite', subject, subjectChecks)
  runner.describe(`tool contract: ${own.name}`, () => {
    for (const tool of own.tools) toolSuite(runner, tool, own)
    sessionSuite(runner, own)
  })
}

function toolSuite({ test }: TestRunner, tool: ContractTool, subject: ConformanceSubject): void {
  const samples = subject.samples?.[tool.id] ?? [{ args: sampleOf(tool.parameters) }]

  test(`${tool.id} publishes its five fields, and a schema that means something`, async () => {
    copyTool(tool)
    assert.ok(tool.parameters['type'] === 'object', 'the arguments are an object')
  })

  test(`${tool.id} answers arguments that do not fit with an error, and does not run`, async () => {
    let runs = 0
    const counted = { ...tool, id: `${tool.id}_counted`, execute: () => (runs += 1) }
    await inSession(subject, { tools: [counted] }, async (session) => {
      for (const args of invalidArguments(tool.parameters)) {
        const ids = subject.builtIn === true ? [counted.id, tool.id] : [counted.id]
        for (const id of ids) expectError(await session.call(id, args), 'invalid_arguments')
      }
    })
    assert.equal(runs, 0)
  })

  if (tool.outputSchema !== undefined) {
    const schema = tool.outputSchema
    test(`${tool.id} gives results that fit its outputSchema`, async () => {
      const { problemFinder } = await import('../call/argument-checks/schema-problems.js')
      const find = problemFinder(schema)
      for (const { args, runtime: options } of samples) {
        const returned = await tool.execute(args, recordingRuntime(options).runtime)
        const data: unknown = returned instanceof LimitedOutput ? returned.data : returned
        assert.deepEqual(find(JSON.parse(JSON.stringify(data) ?? 'null')), [], `${tool.id} gave ${JSON.stringify(data)}`)
      }
    })
  }

  const alone = `${tool.id} reaches the host through its runtime alone`
  if (!hostAccessIsSeen()) {
    const notHere = `${alone} (not checked here: this runtime does not show what a tool imports; run the suite in Node)`
    const skip = test.skip ?? test
    skip(notHere, async () => undefined)
    return
  }
  test(alone, async () => {
    for (const { args, runtime: options } of samples) {
      const { runtime } = recordingRuntime(options)
      const used = await hostAccessDuring(async () => {
        try {
          await tool.execute(args, runtime)
        } catch {
          // That it fails is for its own tests.
        }
      })
      assert.deepEqual(used, [], `${tool.id} used ${used.join(', ')} besides its runtime`)
    }
  })
}

function sessionSuite({ test }: TestRunner, subject: ConformanceSubject): void {
  const plain = (id: string, execute: ContractTool['execute'], more: Partial<ContractTool> = {}): ContractTool => ({
    id,
    description: 'A tool of the conformance suite.',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false },
    requires: {},
    execute,
    ...more,
  })

  test('two tools of one id, a locked id and a missing field are refused at registration', async () => {
    const good = plain('suite_good', () => 1)
    const { requires: _, ...incomplete } = good
    for (const tools of [[good, good], [{ ...good, id: 'read' }], [incomplete as ContractTool]]) {
      await assert.rejects(inSession(subject, { tools }, async () => undefined))
    }
  })

  test('a success is an envelope with data, a failure one with error_text', async () => {
    const tools = [
      plain('suite_gives', () => ({ n: 1 })),
      plain('suite_gives_nothing', () => undefined),
      plain('suite_throws', () => {
        throw new Error('it went wrong')
      }),
      plain('suite_throws_nothing', () => Promise.reject(undefined)),
    ]
    await inSession(subject, { tools }, async (session) => {
      const success = await session.call('suite_gives', {})
      expectEnvelope(success)
      assert.deepEqual(success.type === 'output' && success.data, { n: 1 })
      expectEnvelope(await session.call('suite_gives_nothing', {}))
      const failed = await session.call('suite_throws', {})
      expectError(failed)
      assert.match(failed.type === 'error' ? failed.error_text : '', /it went wrong/u)
      expectError(await session.call('suite_throws_nothing', {}))
      expectError(await session.call('suite_unknown', {}))
    })
  })

  test('an abort stops a call within a second, and a call that was aborted before does not run', async () => {
    let runs = 0
    const tool = plain('suite_hangs', () => {
      runs += 1
      return new Promise(() => undefined)
    })
    await inSession(subject, { tools: [tool] }, async (session) => {
      expectError(await session.call(tool.id, {}, { signal: AbortSignal.abort() }), 'aborted')
      assert.equal(runs, 0)
      const start = performance.now()
      expectError(await session.call(tool.id, {}, { signal: AbortSignal.timeout(50) }), 'aborted')
      assert.ok(performance.now() - start < 1_050)
      assert.equal(runs, 1)
    })
  })

  test('the watchdog is asked before the tool runs, its refusal is told word for word, and its failure refuses', async () => {
    let runs = 0
    const tool = plain('suite_counts', () => (runs += 1))
    const reason = 'Not on my watch: 7 §'
    const verdicts = [() => ({ action: 'deny' as const, reason }), () => Promise.reject(new Error('broken'))]
    for (const [index, watchdog] of verdicts.entries()) {
      await inSession(subject, { tools: [tool], watchdog }, async (session) => {
        const refused = await session.call(tool.id, {})
        expectError(refused, 'watchdog_denied')
        if (index === 0) assert.equal(refused.type === 'error' && refused.error_text, reason)
      })
    }
    assert.equal(runs, 0)
  })

  test('without a user what has to be asked for is refused', async () => {
    let runs = 0
    const tool = plain('suite_counts', () => (runs += 1))
    const manifest = { name: 'suite', permissions: [{ permission: tool.id, pattern: '*', action: 'ask' as const }] }
    await inSession(subject, { tools: [tool], manifest, headless: true }, async (session) => {
      expectError(await session.call(tool.id, {}), 'permission_unattended')
    })
    assert.equal(runs, 0)
  })

  test('what does not fit in an envelope is in a file, and its beginning in the envelope', async () => {
    const tool = plain('suite_long', () => 'é'.repeat(50))
    await inSession(subject, { tools: [tool], limits: { outputBytes: 99 } }, async (session) => {
      const cut = await session.call(tool.id, {})
      expectEnvelope(cut)
      assert.equal(cut.metadata.truncated, true)
      assert.deepEqual(cut.type === 'output' && cut.data, { head: 'é'.repeat(49) })
    })
  })
}

async function inSession(
  { open = createSession, tools: own, builtIn = false }: ConformanceSubject,
  options: Partial<SessionOptions>,
  use: (session: ConformingSession) => Promise<void>,
): Promise<void> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-contract-')))
  try {
    const tools = [...(builtIn ? [] : own), ...toolOption(options.tools ?? [], 'tools').own]
    const session = await open({ manifest: { name: 'suite' }, ...options, workspace, tools })
    try {
      await use(session)
    } finally {
      await session.close()
    }
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}

function expectEnvelope(envelope: Envelope): void {
  assert.equal(envelopeProblem(envelope), undefined, `no envelope: ${envelopeProblem(envelope)}`)
}

function expectError(envelope: Envelope, code?: string): void {
  expectEnvelope(envelope)
  assert.equal(envelope.type, 'error')
  if (code !== undefined) assert.equal(envelope.metadata.code, code)
}
