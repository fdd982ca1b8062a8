import type { Journal } from '../../journal/journal.js'
import { ToolError } from '../../core/errors.js'
import { parseObject } from '../../core/parse-rows.js'

/** The call in a question. */
export interface AskedCall {
  callId: string
  tool: string
  /** The hash of the arguments. */
  args: string
  /** The targets of the call, each as one text. */
  subjects: readonly string[]
  /** The watchdog's reason for the question. */
  reason?: string | undefined
  /** The number of the question in a journal. */
  seq?: number | undefined
}

/** The key of a question. It includes the arguments, because an id may repeat. */
export const questionKey = ({ callId, args }: Pick<AskedCall, 'callId' | 'args'>): string => `${args} ${callId}`

/** The names of the rows in views of a journal. Neither a question nor the use of its answer is a call of the tool. */
const ROW_NAMES = { asked: 'approval', used: 'approval_answer' } as const

/** The most attempts to find a number for a question that no other process has taken. */
const MAX_TRIES = 1_000

/**
 * The questions of a session in a journal, so that an answer can come in another process. Each has a row under a node beside the
 * session's own, and one with the same number under another node once its answer has been used.
 */
export class ApprovalRecord {
  readonly #journal: Journal
  readonly #runId: string
  readonly #nodes: { asked: string; used: string }
  #before: Promise<unknown> = Promise.resolve()

  constructor(journal: Journal, { runId, nodeId }: { runId: string; nodeId: string }) {
    this.#journal = journal
    this.#runId = runId
    // Nodes of children begin with a number, so these names are free.
    this.#nodes = { asked: `${nodeId}/approvals`, used: `${nodeId}/approvals-used` }
  }

  /** Records a question before the user is asked. @returns its number. */
  ask(asked: AskedCall): Promise<number> {
    // One after the other, because calls of one step would take each other's number.
    const recorded = this.#before.then(() => this.#insert(asked))
    this.#before = recorded.catch(() => undefined)
    return recorded
  }

  async #insert({ callId, tool, args, subjects, reason }: AskedCall): Promise<number> {
    for (let tries = 1; ; tries += 1) {
      const last = await this.#journal.lastAttempt({ runId: this.#runId, nodeId: this.#nodes.asked, iteration: 0 })
      const seq = (last?.seq ?? 0) + 1
      const inputJson = JSON.stringify({ tool, subjects, reason, args })
      if (await this.#isFirst('asked', { seq, callToken: callId, inputJson })) return seq
      if (tries === MAX_TRIES) throw new Error('other processes record too many questions at the same moment')
    }
  }

  /** The last question about each call, by {@link questionKey}. Rows of another form are ignored. */
  async questions(): Promise<Map<string, AskedCall>> {
    const rows = await this.#journal.listToolCalls(this.#runId, this.#nodes.asked, 0)
    const questions = new Map<string, AskedCall>()
    for (const { seq, callToken: callId, inputJson } of rows) {
      const { tool, args, subjects, reason } = (parseObject(inputJson) ?? {}) as Partial<AskedCall>
      if (callId === null || typeof tool !== 'string' || typeof args !== 'string' || !Array.isArray(subjects)) continue
      const asked = { callId, tool, args, subjects, reason, seq }
      questions.set(questionKey(asked), asked)
    }
    return questions
  }

  /** Claims the answer to a question. @returns false if a call has used it already. */
  async use({ seq, tool, callId, subjects }: AskedCall): Promise<boolean> {
    return seq !== undefined && this.#isFirst('used', { seq, callToken: callId, inputJson: JSON.stringify({ tool, subjects }) })
  }

  /** @returns `false` if a row with this number exists. */
  async #isFirst(node: 'asked' | 'used', row: { seq: number; callToken: string; inputJson: string }): Promise<boolean> {
    try {
      const place = { runId: this.#runId, nodeId: this.#nodes[node], attempt: 1 }
      // As a side effect, so that the row survives this process.
      const toolName = ROW_NAMES[node]
      await this.#journal.insertToolCall({ ...place, ...row, toolName, status: 'success', sideEffect: true, idempotent: true })
      return true
    } catch (error) {
      if (ToolError.isInstance(error) && error.code === 'JOURNAL_DUPLICATE_CALL') return false
      throw error
    }
  }
}
