import { argumentAdvice } from './argument-advice.js'
import { type ArgumentSize, type SchemaCost, schemaCost } from './schema-cost.js'
import type { FindProblems } from './schema-problems.js'
import { ContractFailure } from '../../registry/codes.js'
import type { JsonSchema } from '../../registry/contract-tool.js'
import { Worker } from 'node:worker_threads'
import { unlessAborted } from '../../../core/abort.js'

/** Checks the arguments of one tool; throws what the model is told. */
export type CheckArguments = (args: unknown, size: ArgumentSize, signal: AbortSignal) => void | Promise<void>

/** Makes the check of a tool's schema. Our own schemas take no longer than their arguments are long. */
export type MakeCheck = (toolId: string, schema: JsonSchema, isOurs?: boolean) => CheckArguments

/** How many things that are wrong are told at once, and how much of each. */
const MOST_TOLD = 5
const MOST_OF_ONE = 2_000

/** What is compared on the host's own thread, about a fiftieth of a second: a plain schema with all that arguments may hold. */
const MOST_COST = 25_000

/** Loads the validator; gives what makes a check of a tool's schema. */
export async function loadArgumentChecks(): Promise<MakeCheck> {
  const { problemFinder } = await import('./schema-problems.js')
  return (toolId, schema, isOurs = false) => {
    let find: FindProblems | undefined
    let cost: SchemaCost | undefined
    return (args, size, signal) => {
      if (args === undefined) return refuse(toolId, schema, args, ['the arguments are missing'])
      if (!isOurs) {
        cost ??= schemaCost(schema)
        if (cost(size) > MOST_COST) return problemsOnThread(schema, args, signal).then((problems) => refuse(toolId, schema, args, problems))
      }
      find ??= problemFinder(schema)
      refuse(toolId, schema, args, find(args))
    }
  }
}

function refuse(toolId: string, schema: JsonSchema, args: unknown, found: readonly string[]): void {
  if (found.length === 0) return
  const { problems, moves } = argumentAdvice(toolId, schema, args, found)
  const more = problems.length > MOST_TOLD ? `; and ${problems.length - MOST_TOLD} more` : ''
  const told = problems.slice(0, MOST_TOLD).map((problem) => (problem.length > MOST_OF_ONE ? `${problem.slice(0, MOST_OF_ONE)}…` : problem))
  const next = [...moves.slice(0, MOST_TOLD), 'Correct them and call again.'].join(' ')
  throw new ContractFailure('invalid_arguments', `Invalid arguments for ${toolId}: ${told.join('; ')}${more}. ${next}`)
}

/** How long arguments may be compared with a schema. */
const CHECK_MS = 500
/** How long the thread may take to begin, on a machine that does much else. */
const START_MS = 30_000
/** How long it is kept for the next ones. */
const IDLE_MS = 10_000
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

/** One at a time: the thread that one of them stops is not that of another. */
let turn: Promise<unknown> = Promise.resolve()
let thread: CheckThread | undefined

/**
 * Compares arguments with a schema on a thread of its own: a schema can hold a regular expression, or references, that
 * take longer than anybody waits, and the host's thread stays free.
 *
 * @throws {ContractFailure} invalid_arguments where it takes too long; the reason of the signal.
 */
export function problemsOnThread(schema: JsonSchema, args: unknown, signal: AbortSignal): Promise<string[]> {
  const mine = turn.then(() => {
    signal.throwIfAborted()
    thread ??= new CheckThread()
    return thread.problems(schema, args)
  })
  turn = mine.catch(() => undefined)
  return unlessAborted(mine, signal)
}

class CheckThread {
  readonly #worker: Worker
  readonly #ready: Promise<void>
  #answer: (message: { problems: string[] }) => void = () => undefined
  #fail: (why: string) => void = () => undefined
  #idle: NodeJS.Timeout | undefined

  constructor() {
    this.#worker = new Worker(new URL('./check-worker.js', import.meta.url), { resourceLimits, env: {}, stdin: false })
    let begun: () => void = () => undefined
    this.#ready = new Promise((resolve) => {
      begun = resolve
    })
    this.#worker.on('message', (message: { ready?: true; problems: string[] }) => {
      if (message.ready === true) begun()
      else this.#answer(message)
    })
    for (const event of ['error', 'messageerror', 'exit'] as const)
      this.#worker.on(event, () => this.#fail('the thread that compares them has ended'))
  }

  async problems(schema: JsonSchema, args: unknown): Promise<string[]> {
    clearTimeout(this.#idle)
    this.#worker.ref()
    const failed = new Promise<never>((_, reject) => {
      this.#fail = (why) => {
        this.#end()
        reject(
          new ContractFailure(
            'invalid_arguments',
            `The arguments could not be compared with the tool's schema: ${why}. Give shorter ones, or use another tool.`,
          ),
        )
      }
    })
    let timer = setTimeout(() => this.#fail(`the thread has not begun within ${START_MS} ms`), START_MS)
    try {
      await Promise.race([this.#ready, failed])
      clearTimeout(timer)
      timer = setTimeout(() => this.#fail(`it takes more than ${CHECK_MS} ms`), CHECK_MS)
      const answered = new Promise<{ problems: string[] }>((resolve) => {
        this.#answer = resolve
      })
      this.#worker.postMessage({ schema, args }, [])
      const { problems } = await Promise.race([answered, failed])
      return problems
    } finally {
      clearTimeout(timer)
      this.#fail = () => this.#end()
      this.#worker.unref()
      this.#idle = setTimeout(() => this.#end(), IDLE_MS)
      this.#idle.unref()
    }
  }

  /** Nobody waits for it: where its engine cannot be stopped, it ends when the engine gives up. */
  #end(): void {
    clearTimeout(this.#idle)
    if (thread === this) thread = undefined
    void this.#worker.terminate()
  }
}
