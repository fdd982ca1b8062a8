// Executes the steps of a row at its door, over a project of its own.
import { execFileSync } from 'node:child_process'
import { createTools } from 'toolwright'
import { applyPatchTool, createSession, presets, processTools, repoOverviewTool } from 'toolwright/contract'
import { providerExecutors } from 'toolwright/providers'
import { createSandboxSession } from 'toolwright/sandbox'
import { createThread, defineTool } from 'toolwright/standard-agents'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { connectTo } from '../../mcp-server/mcp-client.ts'
import { runCli } from '../../support/run-cli.ts'
import { makeSandbox, type Sandbox } from '../../support/sandbox.ts'
import { modelReads } from '../support/model-reads.ts'
import { files, logo } from './project.ts'
import type { Door } from './row.ts'

/** What a reader gets, and whether the call has succeeded. */
export interface Answer {
  ok: boolean
  text: string
}

export type Make = (tool: string, args: unknown) => Promise<Answer>

/** The most that a command may take here, in milliseconds. */
const TIMEOUT = 3_000

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'))
const marked = (text: string): Answer => ({ ok: !text.startsWith('✘'), text })

async function answered(made: () => unknown): Promise<Answer> {
  try {
    return { ok: true, text: asText(await made()) }
  } catch (error) {
    return { ok: false, text: (error as Error).message }
  }
}

/** Makes the project in a directory of the name `shop`, with a repository. */
export function makeShop(): Sandbox {
  const outer = makeSandbox()
  for (const [path, text] of Object.entries(files)) outer.put(`shop/${path}`, text)
  outer.put('shop/logo.png', logo)
  const root = outer.at('shop')
  const git = (...args: string[]): void => void execFileSync('git', ['-C', root, ...args], { stdio: 'ignore' })
  git('init', '-q')
  git('config', 'user.name', 'x')
  git('config', 'user.email', 'x@example.org')
  return { ...outer, root, at: (path) => outer.at(`shop/${path}`), put: (path, content) => outer.put(`shop/${path}`, content) }
}

function ofTools(shop: Sandbox, more: object): Make {
  const tools = createTools({ rootDir: shop.root, toolTimeoutMs: TIMEOUT, ...more })
  onTestFinished(async () => {
    if (Symbol.asyncDispose in tools) await (tools as unknown as AsyncDisposable)[Symbol.asyncDispose]()
  })
  return async (tool, args) => marked(await modelReads(tools, { tool, input: args as object }, shop))
}

async function contract(shop: Sandbox): Promise<Make> {
  const session = await createSession({
    workspace: shop.root,
    manifest: { name: 'words' },
    tools: [...processTools, applyPatchTool, repoOverviewTool],
    permissions: presets.allowAll,
    skills: { home: false },
  })
  onTestFinished(() => session.close())
  const tools = session.tools as unknown as Record<string, { toModelOutput?: (given: object) => { value: unknown } }>
  return async (tool, args) => {
    const envelope = await session.call(tool, args)
    const shown = tools[tool]?.toModelOutput?.({ toolCallId: 'c', input: args, output: envelope }).value ?? envelope
    return { ok: envelope.type === 'output', text: asText(shown) }
  }
}

/** The sessions of Codex have random numbers: a row names the first by 1. */
function providers(shop: Sandbox): Make {
  const executors = providerExecutors({ rootDir: shop.root, memoryDir: shop.at('memories'), toolTimeoutMs: TIMEOUT })
  onTestFinished(() => executors.close())
  const { anthropic, openai, codex } = executors
  const tools = {
    ...anthropic,
    ...openai,
    exec_command: codex.exec_command.execute,
    write_stdin: codex.write_stdin.execute,
  } as unknown as Record<string, (input: unknown, options: object) => unknown>
  let begun: number | undefined
  return async (tool, args) => {
    const given = args as { session_id?: unknown }
    const input =
      begun !== undefined && String(given.session_id) === '1'
        ? { ...given, session_id: typeof given.session_id === 'string' ? String(begun) : begun }
        : args
    const answer = await answered(() => tools[tool]?.(input, { toolCallId: 'c', messages: [] }))
    const id = /session ID (\d+)/u.exec(answer.text)?.[1]
    if (id !== undefined) begun = Number(id)
    return tool === 'applyPatch' && answer.text.includes('"status":"failed"') ? { ...answer, ok: false } : answer
  }
}

async function mcp(shop: Sandbox): Promise<Make> {
  const { call } = await connectTo(shop.root, '2026')
  return async (tool, args) => {
    try {
      const { isError, text } = await call(tool, args as Record<string, unknown>)
      return { ok: !isError, text }
    } catch (error) {
      return { ok: false, text: (error as Error).message }
    }
  }
}

async function standard(shop: Sandbox): Promise<Make> {
  const search = defineTool({
    description: 'Search articles',
    args: z.object({ query: z.string(), limit: z.number().optional() }),
    execute: (_state, { query }) => Promise.resolve({ status: 'success' as const, result: `A ${query} takes five days.` }),
  })
  const keyed = defineTool({
    description: 'Needs a key',
    tenvs: z.object({ SHOP_KEY: z.string() }),
    execute: () => Promise.resolve({ status: 'success' as const, result: 'ok' }),
  })
  const thread = await createThread({ tools: { search_articles: search, needs_key: keyed } })
  onTestFinished(() => thread.close())
  return async (tool, args) => {
    const called = (await thread.call(tool, args as never)) as unknown as { status: string; result?: string; error?: string }
    const text = called.error ?? called.result ?? ''
    return { ok: called.status === 'success', text: text.replaceAll(shop.root, '/shop') }
  }
}

function sandbox(shop: Sandbox): Make {
  const session = createSandboxSession({ rootDir: shop.root })
  onTestFinished(() => session.close())
  return (tool, args) => answered(() => (session as unknown as Record<string, (input: unknown) => unknown>)[tool]?.(args))
}

function cli(shop: Sandbox): Make {
  return async (_, args) => {
    const { code, stdout, stderr } = await runCli(args as string[], { cwd: shop.root })
    return { ok: code === 0, text: stdout + stderr }
  }
}

const doors: Record<Door, (shop: Sandbox) => Make | Promise<Make>> = {
  toolkit: (shop) => ofTools(shop, { extraTools: ['apply_patch'], processes: true }),
  plain: (shop) => ofTools(shop, {}),
  contract,
  anthropic: providers,
  openai: providers,
  codex: providers,
  mcp,
  standard,
  sandbox,
  cli,
}

/** Opens a door. The texts have fixed names in place of the project's path and of durations. */
export async function openDoor(door: Door, shop: Sandbox): Promise<Make> {
  const make = await doors[door](shop)
  return async (tool, args) => {
    const { ok, text } = await make(tool, args)
    return { ok, text: steady(text, shop) }
  }
}

const steady = (text: string, shop: Sandbox): string =>
  text
    .replaceAll(shop.root, '/shop')
    .replaceAll(/\/project\/shop/gu, '/shop')
    .replaceAll(/"duration_ms":\d+/gu, '"duration_ms":0')
    .replace(/^Chunk ID: \w+\nWall time: [\d.]+ seconds\n/u, '')
    .replaceAll(/session ID \d+/gu, 'session ID 1')
    .replaceAll(/\/(?:usr\/)?bin\/bash: /gu, 'bash: ')
