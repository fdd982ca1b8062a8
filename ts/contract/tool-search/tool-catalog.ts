import type { ContractTool } from '../registry/contract-tool.js'
import { indexTools, type RankTools } from './rank-tools.js'
import type { resolveToolSearch } from './tool-search-options.js'

/** A tool that a search found. */
export interface ToolMatch {
  id: string
  description: string
}

/** Which tools of a session can be called: those of servers and extensions are hidden where there are many. */
export class ToolCatalog {
  readonly #options: ReturnType<typeof resolveToolSearch>
  readonly #found = new Set<string>()
  #tools: readonly ContractTool[]
  /** As it was when the step began: what is found within a step is for the next one. */
  #open: ReadonlySet<string> = new Set()
  #rank: Promise<RankTools> | undefined
  #hasSteps = false
  /** Told when tools can be called that could not be before. */
  onChange: () => void = () => undefined
  /** What brings the tools of servers, for the first search of a session without steps. */
  load: (signal: AbortSignal) => Promise<void> = () => Promise.resolve()

  constructor(tools: readonly ContractTool[], options: ReturnType<typeof resolveToolSearch>) {
    this.#tools = tools
    this.#options = options
    this.#settle()
  }

  /** Whether there are more tools than are listed all, and a way to find them. */
  get isHiding(): boolean {
    const canSearch = this.#tools.some(({ id }) => id === 'tool_search')
    return canSearch && this.#options.enabled && this.#tools.length > this.#options.threshold
  }

  /** Whether there are tools that a search can find. */
  get hasFindable(): boolean {
    return this.#tools.some(({ extension }) => extension === true)
  }

  /** The tools that can be called now. */
  get callable(): ContractTool[] {
    return this.#tools.filter(({ id }) => this.#open.has(id))
  }

  /** Whether a tool is there that can only be called after it was found. */
  isHidden(id: string): boolean {
    return !this.#open.has(id) && this.#tools.some((tool) => tool.id === id)
  }

  /** Makes these the tools from now on. */
  replace(tools: readonly ContractTool[]): void {
    this.#tools = tools
    this.#rank = undefined
    this.#settle()
  }

  /** A new step of the agent: what was found before it can be called in it. */
  nextStep(): void {
    this.#hasSteps = true
    this.#settle()
  }

  /** The best matches. They can be called from the next step on, and for the rest of the session. */
  async search(query: string, signal: AbortSignal): Promise<ToolMatch[]> {
    if (!this.#hasSteps) await this.load(signal)
    const deferred = this.#tools.filter(({ extension }) => extension === true)
    const rank = await (this.#rank ??= indexTools(deferred))
    const matches = rank(query, this.#options.maxMatches)
    for (const { id } of matches) this.#found.add(id)
    // Where nobody says when a step begins, the end of the search is as good.
    if (!this.#hasSteps) this.#settle()
    return matches.map(({ id, description }) => ({ id, description }))
  }

  #settle(): void {
    const isOpen = ({ id, extension }: ContractTool): boolean => !this.isHiding || extension !== true || this.#found.has(id)
    this.#open = new Set(this.#tools.filter(isOpen).map(({ id }) => id))
    this.onChange()
  }
}
