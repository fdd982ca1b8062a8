import type { ModelMessage, ToolSet } from 'ai'
import { agentList, agentsForTasks } from '../agents/manifest.js'
import { ContractFailure } from '../registry/codes.js'
import type { MakeCheck } from '../call/argument-checks/argument-checks.js'
import { type ContractTool, hasEffect } from '../registry/contract-tool.js'
import type { LockedToolId } from '../registry/tool-ids.js'
import { type CallTool, modelTools } from '../registry/model-tools.js'
import type { RegisteredTool } from '../call/run-call.js'
import type { SessionCore } from './session-core.js'

/**
 * What a session does between two steps of an agent. `activeTools` are the names in `session.tools`, own tools and those of
 * servers among them: its type has those that {@link SessionToolSet} has.
 */
export type PrepareStep = (step: { messages: ModelMessage[] }) => Promise<{ activeTools: LockedToolId[]; messages?: ModelMessage[] }>

/** The tools of a session: those it began with, and those of servers as they come. */
export class SessionTools {
  /** What the model is offered. One object for the whole session, so that an agent sees what changes. */
  readonly toolSet: ToolSet = {}
  readonly warnings: string[] = []
  readonly #core: SessionCore
  readonly #fixed: ReadonlyMap<string, RegisteredTool>
  readonly #makeCheck: MakeCheck
  readonly #call: CallTool
  #registry: Map<string, RegisteredTool>

  constructor(core: SessionCore, fixed: ReadonlyMap<string, RegisteredTool>, makeCheck: MakeCheck, call: CallTool) {
    this.#core = core
    this.#fixed = fixed
    this.#registry = new Map(fixed)
    this.#makeCheck = makeCheck
    this.#call = call
    core.catalog.onChange = () => this.#offer()
    core.catalog.load = (signal) => this.load(signal)
    this.#offer()
  }

  /** All there are, whether they are offered or not. */
  get all(): ContractTool[] {
    return [...this.#registry.values()].map(({ tool }) => tool)
  }

  /** A tool; one that is not there, or not yet found, is stood in for, so that its call is recorded as any other. */
  get(id: string): RegisteredTool {
    if (this.#core.catalog.isHidden(id))
      return refusing(id, `The tool ${id} is not listed. Find it with tool_search; then it can be called from the next step on.`)
    const names = (): string => Object.keys(this.toolSet).join(', ')
    return this.#registry.get(id) ?? refusing(id, `There is no tool ${id.slice(0, 100)}. The tools of this session are: ${names()}.`)
  }

  /** A new step: tools that were found meanwhile are offered, and those that servers have now. */
  async nextStep(signal: AbortSignal): Promise<LockedToolId[]> {
    await this.load(signal)
    this.#core.catalog.nextStep()
    return Object.keys(this.toolSet) as LockedToolId[]
  }

  /** Looks what servers have. */
  async load(signal: AbortSignal): Promise<void> {
    const { mcp, catalog, isChosen } = this.#core
    if (mcp.names.length === 0) return
    await mcp.refresh(signal)
    const { tools: all, warnings } = mcp.tools(new Set(this.#fixed.keys()))
    const tools = all.filter(({ id }) => isChosen(id))
    for (const warning of warnings) if (!this.warnings.includes(warning)) this.warnings.push(warning)
    const registry = new Map(this.#fixed)
    for (const tool of tools) {
      const known = this.#registry.get(tool.id)
      registry.set(
        tool.id,
        known?.tool === tool ? known : { tool, check: this.#makeCheck(tool.id, tool.parameters), effect: hasEffect(tool), builtIn: false },
      )
    }
    const isSame = registry.size === this.#registry.size && [...registry].every(([id, one]) => this.#registry.get(id) === one)
    if (isSame) return
    this.#registry = registry
    catalog.replace(this.all)
  }

  #offer(): void {
    const callable = this.#core.catalog.callable.filter(({ id }) => hasSomethingBehind(id, this.#core))
    const offered = modelTools(
      callable.map((tool) => this.#described(tool)),
      this.#call,
    )
    for (const id of Object.keys(this.toolSet)) if (!(id in offered)) delete this.toolSet[id]
    Object.assign(this.toolSet, offered)
  }

  /** A model is to know which agents there are before it calls one, and where it can search. */
  #described(tool: ContractTool): ContractTool {
    const { manifest, roots } = this.#core
    const description = withoutMissing(tool, this.#core.tools)
    const told = (more: string): ContractTool => ({ ...tool, description: `${description} ${more}` })
    const agents = tool.id === 'task' ? agentsForTasks(manifest.agents) : []
    if (agents.length > 0) return told(`The agents are: ${agentList(agents)}.`)
    const searches = tool.id === 'glob' || tool.id === 'grep'
    if (!searches || roots.length < 2) return { ...tool, description }
    return told(`The workspace is ${roots.join(', ')}; relative paths begin in the first of them.`)
  }
}

/** Whether a tool that needs something of the host has it: a model offered another one would try it in vain. */
function hasSomethingBehind(id: string, { manifest, web, skills, catalog, mcp }: SessionCore): boolean {
  if (id === 'task') return agentsForTasks(manifest.agents).length > 0
  if (id === 'web_search') return web.provider !== undefined
  if (id === 'skill') return skills.entries.length > 0
  // Tools of servers come when they are connected: without steps, by the first search.
  return id !== 'tool_search' || catalog.hasFindable || mcp.names.length > 0
}

/** Sentences of our descriptions that recommend another tool. */
const recommendations: Readonly<Record<string, { sentence: string; tool: string }>> = {
  write: { sentence: ' To change part of a file, use edit.', tool: 'edit' },
  edit: { sentence: ' To create a file, use write.', tool: 'write' },
  web_search: { sentence: ' Read a result with web_fetch.', tool: 'web_fetch' },
}

/** The description without what recommends a tool that the session does not have. */
function withoutMissing({ id, description }: ContractTool, tools: ReadonlySet<string>): string {
  const { sentence, tool } = (Object.hasOwn(recommendations, id) ? recommendations[id] : undefined) ?? {}
  return sentence === undefined || tool === undefined || tools.has(tool) ? description : description.replace(sentence, '')
}

function refusing(id: string, text: string): RegisteredTool {
  const check = (): never => {
    throw new ContractFailure('unknown_tool', text)
  }
  const tool: ContractTool = { id, description: id, parameters: {}, requires: {}, execute: check }
  return { tool, check, effect: false, builtIn: true }
}
