import { createTools } from 'toolwright'
import { createSession, presets, processTools } from 'toolwright/contract'
import { providerExecutors } from 'toolwright/providers'
import { createSandboxSession } from 'toolwright/sandbox'
import { createThread, defineTool } from 'toolwright/standard-agents'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { connectTo } from '../../mcp-server/mcp-client.ts'
import type { Sandbox } from '../../support/sandbox.ts'
import { modelReads } from '../support/model-reads.ts'

/** Makes a call, and gives what a model reads: behind `✘ ` for a failure. */
export type MakeCall = (tool: string, input: object) => Promise<string>

/** The most that a command may take here, in milliseconds. */
const TIMEOUT = 3_000

function toolkit(fixture: Sandbox): MakeCall {
  const tools = createTools({ rootDir: fixture.root, toolTimeoutMs: TIMEOUT, extraTools: ['apply_patch'], processes: true })
  onTestFinished(() => tools[Symbol.asyncDispose]())
  return (tool, input) => modelReads(tools, { tool, input }, fixture)
}

async function contract(fixture: Sandbox): Promise<MakeCall> {
  const session = await createSession({
    workspace: fixture.root,
    manifest: { name: 'words' },
    tools: processTools,
    permissions: presets.allowAll,
    skills: { home: false },
  })
  onTestFinished(() => session.close())
  const tools = session.tools as unknown as Record<string, { toModelOutput?: (given: object) => { value: unknown } }>
  return async (tool, input) => {
    const envelope = await session.call(tool, input)
    const shown = tools[tool]?.toModelOutput?.({ toolCallId: 'c', input, output: envelope }).value ?? envelope
    return (envelope.type === 'error' ? '✘ ' : '') + (typeof shown === 'string' ? shown : JSON.stringify(shown))
  }
}

async function mcp(fixture: Sandbox): Promise<MakeCall> {
  const { call } = await connectTo(fixture.root, '2026', { args: ['--allow', 'bash', '--allow', 'write', '--allow', 'edit'] })
  return async (tool, input) => {
    try {
      const { isError, text } = await call(tool, input as Record<string, unknown>)
      return (isError ? '✘ ' : '') + text
    } catch (error) {
      return `✘ ${(error as Error).message}`
    }
  }
}

/** Results that are objects are read as JSON, as the AI SDK sends them. */
const asText = (result: unknown): string => (typeof result === 'string' ? result : (JSON.stringify(result) ?? 'nothing'))

const failing = async (made: () => unknown): Promise<string> => {
  try {
    return asText(await made())
  } catch (error) {
    return `✘ ${(error as Error).message}`
  }
}

function providers(fixture: Sandbox): MakeCall {
  const executors = providerExecutors({ rootDir: fixture.root, memoryDir: fixture.at('memories'), toolTimeoutMs: TIMEOUT })
  onTestFinished(() => executors.close())
  const { anthropic, openai, codex } = executors
  const tools: Record<string, (input: never) => unknown> = {
    bash: anthropic.bash,
    str_replace_based_edit_tool: anthropic.textEditor,
    memory: anthropic.memory,
    shell: (action: never) => openai.shell({ action }),
    local_shell: (action: never) => openai.localShell({ action }),
    apply_patch: (operation: never) => openai.applyPatch({ callId: 'c', operation }),
    exec_command: codex.exec_command.execute as never,
    write_stdin: codex.write_stdin.execute as never,
  }
  return (tool, input) => failing(() => tools[tool]?.(input as never))
}

function sandbox(fixture: Sandbox): MakeCall {
  const session = createSandboxSession({ rootDir: fixture.root })
  onTestFinished(() => session.close())
  return (tool, input) => failing(() => (session as unknown as Record<string, (input: object) => unknown>)[tool]?.(input))
}

async function agents(fixture: Sandbox): Promise<MakeCall> {
  const order = defineTool({
    description: 'Orders articles.',
    args: z.object({ article: z.string(), count: z.number().int().min(1), gift: z.boolean().optional() }),
    execute: (_state, { article, count }) => Promise.resolve({ status: 'success' as const, result: `${count} of ${article}` }),
  })
  const thread = await createThread({ tools: { order } })
  onTestFinished(() => thread.close())
  return (tool, input) => modelReads(thread.tools() as never, { tool, input }, fixture)
}

/** The doors of the package, each over a project of its own. */
export const doors = { toolkit, contract, mcp, providers, sandbox, agents }
