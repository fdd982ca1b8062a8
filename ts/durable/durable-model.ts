/** A model whose answers are steps. */
import type { LanguageModel } from 'ai'
import { invalid } from '../core/options.js'
import { fromPlain, toPlain } from '../journal/calls/kept-values.js'
import { asJson, errorAsJson, recordedError } from '../journal/calls/recorded-values.js'
import { LiveParts, type Part, UniqueIds } from './live-parts.js'
import { newObjectNumber, type RunObject } from './run-objects.js'
import type { Step } from './steps.js'

type Model = Exclude<LanguageModel, string>
/** What matters here of the options of a call. */
interface Asked {
  abortSignal?: AbortSignal
  prompt?: unknown
}

/** What a run has in common: how many answers the model gave, and the ids of their calls. */
export interface ModelRun {
  step: Step
  object: RunObject
  /** Throws what has to end the run. */
  check(): void
  /** What the engine gets in place of an error with which every execution ends. */
  ended(error: unknown): unknown
  answers: number
  callIds: Set<string>
}

/** What a step of the model leaves. The first one has the number of the object. */
interface KeptAnswer {
  answer?: unknown
  aborted?: string
  object?: number
}

/** Gives an object its number in a step of its own, where its tools are used without its model. */
export async function numberByItself({ step, object }: ModelRun): Promise<void> {
  const made = { object: newObjectNumber() }
  const kept = await step('durable', async () => made)
  object.begins(kept.object, '', kept !== made)
}

/** @throws {ToolError} INVALID_INPUT for a model that is a name. */
export function durableModel(model: LanguageModel, run: ModelRun): LanguageModel {
  if (typeof model !== 'object' || model === null) throw invalid('model must be a model of a provider, not its name.')
  const inner = model as Model
  /** What the model answers, kept as a step. So is an abort, which an engine would repeat. */
  const ask = async (options: Asked, answer: () => Promise<unknown>): Promise<unknown> => {
    run.check()
    run.answers += 1
    const object = run.object.number === undefined ? newObjectNumber() : undefined
    let made: KeptAnswer | undefined
    const kept: KeptAnswer = await run
      .step(`model ${run.answers}`, async (): Promise<KeptAnswer> => {
        try {
          return (made = { ...(toPlain(await answer()) as object), ...(object !== undefined && { object }) })
        } catch (error) {
          if (options.abortSignal?.aborted !== true) throw error
          return { aborted: errorAsJson(error) }
        }
      })
      .catch((error: unknown) => {
        run.object.is('failed')
        throw error
      })
    if (kept.aborted !== undefined) {
      run.object.is('failed')
      throw run.ended(recordedError(kept.aborted) ?? new Error('The model was aborted'))
    }
    const { object: number, ...rest } = kept
    if (typeof number === 'number') run.object.begins(number, asJson(options.prompt) ?? '', kept !== made)
    return fromPlain(rest)
  }
  const heard = (parts: readonly Part[]): void => {
    note(parts, run.callIds)
    // Without a call of a tool, the agent has come to its end.
    run.object.is(parts.some(({ type }) => type === 'tool-call') ? 'active' : 'ended')
  }
  const generate = async (options: Asked): Promise<unknown> => {
    const answer = await ask(options, async () => {
      const {
        content,
        response,
        request: _request,
        ...rest
      } = (await inner.doGenerate(options as never)) as unknown as Record<string, unknown>
      const ids = new UniqueIds(run.callIds)
      const renamed = (content as Part[]).map((part) => ids.renamed(part))
      return { ...rest, content: renamed, response: withoutBody(response) }
    })
    heard((answer as { content: Part[] }).content)
    return answer
  }
  /** The parts of a stream come as they do, but those that something is done for: they wait until the engine has kept them. */
  const stream = async (options: Asked): Promise<unknown> => {
    const live = new LiveParts()
    const kept = ask(options, async () => {
      const { stream: parts, response } = (await inner.doStream(options as never)) as unknown as {
        stream: ReadableStream<Part>
        response?: unknown
      }
      return { parts: await live.gather(parts, new UniqueIds(run.callIds)), response: withoutBody(response) }
    }) as Promise<{ parts: Part[]; response?: unknown }>
    const answer = kept.then((one) => {
      heard(one.parts)
      return one
    })
    answer.then(
      ({ parts }) => live.end(parts),
      (error: unknown) => live.fail(error),
    )
    // A model that fails before it says anything is asked again by the SDK.
    const early = await Promise.race([answer, live.started])
    return { stream: ReadableStream.from(live), response: early?.response }
  }
  return new Proxy(inner, {
    get: (target, name) => {
      if (name === 'doGenerate') return generate
      if (name === 'doStream') return stream
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Headers and bodies of an answer are large, and nobody asks for them again. */
function withoutBody(response: unknown): unknown {
  if (typeof response !== 'object' || response === null) return response
  const { body: _body, headers: _headers, ...rest } = response as Record<string, unknown>
  return rest
}

function note(parts: readonly Part[], ids: Set<string>): void {
  for (const { type, toolCallId } of parts) if (type === 'tool-call' && toolCallId !== undefined) ids.add(toolCallId)
}
