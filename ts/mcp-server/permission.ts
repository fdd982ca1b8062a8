import { randomBytes, randomUUID } from 'node:crypto'
import type { ClientCapabilities, InputRequiredResult, RequestStateCodec, ServerContext } from '@modelcontextprotocol/server'
import { argumentsHash, subjectText } from '../contract/call/approvals.js'
import type { Judgement } from '../contract/call/judgement.js'
import type { Prompt, PromptDecision, PromptRequest } from '../contract/permissions/prompt.js'
import { ContractFailure } from '../contract/registry/envelope.js'
import type { Session } from '../contract/session/session.js'
import { formOf, refusalWithoutForm } from './permission-form.js'
import type { Sdk } from './sdk.js'

/** A form that was closed without an answer. A client that nobody watches does that by itself. */
const CANCELLED = 'cancelled'
type FormDecision = PromptDecision | typeof CANCELLED

/** The state of a question, which the client returns with the answer. */
interface Asked {
  /** The id of the call. */
  id: string
  tool: string
  /** The hash of the arguments. */
  args: string
  subjects: readonly string[]
}

interface Answered extends Asked {
  decision: FormDecision
}

/** A client's call. */
export interface RequestedCall {
  tool: string
  args: unknown
}

/** The next step of a call: send its question to the client, or make it with this prompt. */
export type NextMove = { asks: InputRequiredResult } | { id: string; prompt: Prompt }

/** The name of the question in a result. */
const KEY = 'permission'
/** How long an answer may take, in seconds: as long as a prompt of a session. */
const ANSWER_SECONDS = 600

/**
 * Asks a client's user about calls. A client of 2025 is asked while the call waits. A client of 2026 gets the question as the
 * result, with a signed state, and makes the call again with the answer.
 */
export class Permission {
  readonly #sdk: Sdk
  readonly #states: RequestStateCodec<Asked>
  /** The ids of answered questions, with the time at which their state expires. */
  readonly #used = new Map<string, number>()
  readonly #seconds: number

  /** @param seconds how long an answer may take. */
  constructor(sdk: Sdk, seconds = ANSWER_SECONDS) {
    this.#sdk = sdk
    this.#seconds = seconds
    this.#states = sdk.createRequestStateCodec<Asked>({ key: randomBytes(32), ttlSeconds: seconds })
  }

  async nextMove(session: Session, call: RequestedCall, ctx: ServerContext, client: ClientCapabilities | undefined): Promise<NextMove> {
    const id = randomUUID()
    if (!hasForms(client)) return { id, prompt: withoutForm }
    // Only requests of 2026 have an envelope.
    if (ctx.mcpReq.envelope === undefined) return { id, prompt: (request) => elicit(request, ctx) }
    return this.#roundTrip(session, call, ctx)
  }

  async #roundTrip(session: Session, call: RequestedCall, ctx: ServerContext): Promise<NextMove> {
    const answered = await this.#answerOf(call, ctx)
    if (answered?.decision === 'reject_once') return { id: answered.id, prompt: () => 'reject_once' }
    const judgement = await session.judge(call.tool, call.args, { signal: ctx.mcpReq.signal })
    if (judgement.action !== 'ask') return { id: answered?.id ?? randomUUID(), prompt: changed }
    if (answered === undefined || !covers(answered.subjects, judgement.subjects)) return this.#ask(call, judgement)
    const { id, subjects, decision } = answered
    if (decision === CANCELLED) return { id, prompt: cancelled }
    return { id, prompt: (request) => (covers(subjects, request.subjects) ? decision : changed()) }
  }

  async #ask({ tool, args }: RequestedCall, judgement: Judgement): Promise<NextMove> {
    const { subjects, rules, reason } = judgement
    const state = { id: randomUUID(), tool, args: argumentsHash(args), subjects: subjects.map(subjectText) }
    const question = this.#sdk.inputRequired.elicit(formOf({ tool, args, subjects, rules, reason }))
    return { asks: this.#sdk.inputRequired({ inputRequests: { [KEY]: question }, requestState: await this.#states.mint(state) }) }
  }

  /** The answer to a question about exactly this call. A forged or expired state, or one of another call, is no answer. */
  async #answerOf({ tool, args }: RequestedCall, ctx: ServerContext): Promise<Answered | undefined> {
    const state = ctx.mcpReq.requestState<string>()
    if (typeof state !== 'string') return undefined
    const asked = await this.#states.verify(state, ctx).catch(() => undefined)
    if (asked === undefined || asked.tool !== tool || asked.args !== argumentsHash(args)) return undefined
    const view = this.#sdk.inputResponse(ctx.mcpReq.inputResponses, KEY)
    if (view.kind !== 'elicit' || !this.#use(asked.id)) return undefined
    return { ...asked, decision: decisionOf(view.action, view.content) }
  }

  /** Marks an answer as used. Each answer is valid once. */
  #use(id: string): boolean {
    const now = Date.now()
    for (const [old, end] of this.#used) {
      if (end > now) break
      this.#used.delete(old)
    }
    if (this.#used.has(id)) return false
    // States expire in whole seconds.
    this.#used.set(id, now + (this.#seconds + 1) * 1_000)
    return true
  }
}

async function elicit(request: PromptRequest, ctx: ServerContext): Promise<PromptDecision> {
  const signal = AbortSignal.any([request.signal, ctx.mcpReq.signal])
  const { action, content } = await ctx.mcpReq.elicitInput(formOf(request), { signal, timeout: (ANSWER_SECONDS + 1) * 1_000 })
  const decision = decisionOf(action, content)
  return decision === CANCELLED ? cancelled(request) : decision
}

/** Whether a client shows forms. An empty capability means forms. */
function hasForms(client: ClientCapabilities | undefined): boolean {
  const { elicitation } = client ?? {}
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** The user's answer. Anything but an agreement is a rejection, and a form that was closed is no answer. */
function decisionOf(action: string, content: unknown): FormDecision {
  if (action === 'cancel') return CANCELLED
  const { decision } = (content ?? {}) as { decision?: unknown }
  return action === 'accept' && (decision === 'allow_once' || decision === 'allow_always') ? decision : 'reject_once'
}

function withoutForm(request: PromptRequest): never {
  throw new ContractFailure('permission_unattended', refusalWithoutForm(request))
}

function cancelled(request: PromptRequest): never {
  const why = 'the client has closed the question without an answer, as clients do that nobody watches'
  throw new ContractFailure('permission_unattended', refusalWithoutForm(request, why))
}

function changed(): never {
  throw new ContractFailure('permission_rejected', 'What the call touches has changed since the user was asked. Call again.')
}

/** Whether the user has seen all targets of a call. */
const covers = (agreed: readonly string[], touched: readonly { capability: string; resource: string }[]): boolean =>
  touched.every((subject) => agreed.includes(subjectText(subject)))
