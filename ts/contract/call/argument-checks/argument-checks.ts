import { refusalText, type ToolWords } from '../../../core/argument-words/argument-words.js'
import { contractWords } from './argument-habits.js'
import { type ArgumentSize, type SchemaCost, schemaCost } from './schema-cost.js'
import type { FindProblems } from './schema-problems.js'
import { ContractFailure } from '../../registry/envelope.js'
import type { JsonSchema } from '../../registry/contract-tool.js'
import type { Worker } from 'node:worker_threads'
import { Slots, unlessAborted } from '../../../core/abort.js'
import { startThread } from '../../../core/worker.js'
import { loadLate } from '../../../core/late-code.js'

const loadProblems = loadLate(() => import('./schema-problems.js'))

/** Checks the arguments of one tool. Throws the failure for the model. */
export type CheckArguments = (args: unknown, size: ArgumentSize, signal: AbortSignal) => void | Promise<void>

/** Makes the check of a tool's schema. A built-in schema takes time in proportion to the arguments. */
export type MakeCheck = (toolId: string, schema: JsonSchema, isOurs?: boolean) => CheckArguments

/** The maximum cost of a check on the host's own thread: about 20 ms, enough for a plain schema and the largest arguments. */
const MAX_COST = 25_000

/** @param startsProcesses whether the session has `process_start` */
export async function loadArgumentChecks(startsProcesses: boolean): Promise<MakeCheck> {
  const { problemFinder } = await loadProblems()
  const words = contractWords(startsProcesses)
  return (toolId, schema, isOurs = false) => {
    let find: FindProblems | undefined
    let cost: SchemaCost | undefined
    return (args, size, signal) => {
      if (args === undefined) return refuse(words, toolId, schema, args, ['the arguments are missing'])
      if (!isOurs) {
        cost ??= schemaCost(schema)
        if (cost(size) > MAX_COST)
          return problemsOnThread(schema, args, signal).then((problems) => refuse(words, toolId, schema, args, problems))
      }
      find ??= problemFinder(schema)
      refuse(words, toolId, schema, args, find(args))
    }
  }
}

function refuse(words: ToolWords, toolId: string, schema: JsonSchema, args: unknown, findings: readonly string[]): void {
  if (findings.length === 0) return
  throw new ContractFailure('invalid_arguments', refusalText(words, toolId, schema, args, findings))
}

const CHECK_MS = 500
/** The time limit for the start of the thread, on a busy machine. */
const START_MS = 30_000
const IDLE_MS = 10_000
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

/** One comparison at a time, so that stopping the thread ends no other one. */
const turn = new Slots(1)
let thread: CheckThread | undefined

/**
 * Compares arguments with a schema on a thread of its own. A regular expression or a reference in the schema can take very
 * long, and must not block the host's thread.
 *
 * @throws {ContractFailure} invalid_arguments if it takes too long; the reason of the signal.
 */
export function problemsOnThread(schema: JsonSchema, args: unknown, signal: AbortSignal): Promise<string[]> {
  const problems = turn.run(async () => {
    thread ??= new CheckThread(await startThread('checkWorker', { resourceLimits }))
    return thread.problems(schema, args)
  }, signal)
  return unlessAborted(problems, signal)
}

class CheckThread {
  readonly #worker: Worker
  readonly #begun = Promise.withResolvers<void>()
  #answer: (message: { problems: string[] }) => void = () => undefined
  #fail: (why: string) => void = () => undefined
  #idle: NodeJS.Timeout | undefined

  constructor(worker: Worker) {
    this.#worker = worker
    this.#worker.on('message', (message: { ready?: true; problems: string[] }) => {
      if (message.ready === true) this.#begun.resolve()
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
      await Promise.race([this.#begun.promise, failed])
      clearTimeout(timer)
      timer = setTimeout(() => this.#fail(`it takes more than ${CHECK_MS} ms`), CHECK_MS)
      const answered = Promise.withResolvers<{ problems: string[] }>()
      this.#answer = answered.resolve
      this.#worker.postMessage({ schema, args }, [])
      const { problems } = await Promise.race([answered.promise, failed])
      return problems
    } finally {
      clearTimeout(timer)
      this.#fail = () => this.#end()
      this.#worker.unref()
      this.#idle = setTimeout(() => this.#end(), IDLE_MS)
      this.#idle.unref()
    }
  }

  /** Does not wait. An engine that cannot be interrupted ends by itself later. */
  #end(): void {
    clearTimeout(this.#idle)
    if (thread === this) thread = undefined
    void this.#worker.terminate()
  }
}
