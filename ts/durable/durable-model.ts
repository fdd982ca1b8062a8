/** A model whose answers are steps. */
import type { LanguageModel } from 'ai'
import { invalid } from '../core/options.js'
import { errorAsJson, recordedError } from '../journal/calls/recorded-values.js'
import { fromPlain, toPlain } from './plain-values.js'
import type { Step } from './steps.js'

type Model = Exclude<LanguageModel, string>
type Part = { type: string; id?: string; delta?: string; toolCallId?: string } & Record<string, unknown>
/** What matters here of the options of a call. */
interface Asked {
  abortSignal?: AbortSignal
}

/** What a run has in common: how many answers the model gave, and the ids of their calls. */
export interface ModelRun {
  step: Step
  /** Throws what has to end the run. */
  check(): void
  answers: number
  callIds: Set<string>
}

/** @throws {ToolError} INVALID_INPUT for a model that is a name. */
export function durableModel(model: LanguageModel, run: ModelRun): LanguageModel {
  if (typeof model !== 'object' || model === null) throw invalid('model must be a model of a provider, not its name.')
  const inner = model as Model
  const nextName = (): string => {
    run.check()
    run.answers += 1
    return `model ${run.answers}`
  }
  /** What the model answers, kept as a step. So is an abort, which an engine would repeat. */
  const ask = async (options: Asked, answer: () => Promise<unknown>): Promise<unknown> => {
    const kept = await run.step(nextName(), async (): Promise<object> => {
      try {
        return toPlain(await answer()) as object
      } catch (error) {
        if (options.abortSignal?.aborted !== true) throw error
        return { aborted: errorAsJson(error) }
      }
    })
    if ('aborted' in kept) throw recordedError(String(kept.aborted)) ?? new Error('The model was aborted')
    return fromPlain(kept)
  }
  const generate = async (options: Asked): Promise<unknown> => {
    const answer = await ask(options, async () => {
      const {
        content,
        response,
        request: _request,
        ...rest
      } = (await inner.doGenerate(options as never)) as unknown as Record<string, unknown>
      const renamed = uniqueIds(content as Part[], run.callIds)
      return { ...rest, content: renamed, response: withoutBody(response) }
    })
    note((answer as { content: Part[] }).content, run.callIds)
    return answer
  }
  const stream = async (options: Asked): Promise<unknown> => {
    const answer = await ask(options, async () => {
      const { stream: parts, response } = (await inner.doStream(options as never)) as unknown as {
        stream: ReadableStream<Part>
        response?: unknown
      }
      return { parts: uniqueIds(await gathered(parts), run.callIds), response: withoutBody(response) }
    })
    const { parts, response } = answer as { parts: Part[]; response?: unknown }
    note(parts, run.callIds)
    return { stream: ReadableStream.from(parts), response }
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

/** All parts of a stream. Texts that arrived in pieces are put together. */
async function gathered(stream: ReadableStream<Part>): Promise<Part[]> {
  const parts: Part[] = []
  for await (const part of stream as unknown as AsyncIterable<Part>) {
    // An error in the stream is that of the model, and the step fails with it.
    if (part.type === 'error') throw part['error']
    if (part.type === 'raw') continue
    const before = parts.at(-1)
    const continues = before !== undefined && before.type === part.type && before.id === part.id && typeof part.delta === 'string'
    if (continues && part['providerMetadata'] === undefined) before.delta = `${before.delta ?? ''}${part.delta}`
    else parts.push({ ...part })
  }
  return parts
}

/** Some models count their calls from 0 in every answer. A call is known by its id, so a repeated one gets a number. */
function uniqueIds(parts: readonly Part[], taken: ReadonlySet<string>): Part[] {
  const renamed = new Map<string, string>()
  const given = new Set<string>()
  return parts.map((part) => {
    // The parts that announce a call in a stream have its id as theirs.
    const field = part.type.startsWith('tool-input-')
      ? 'id'
      : part.type === 'tool-call' || part.type === 'tool-result'
        ? 'toolCallId'
        : undefined
    const id = field === undefined ? undefined : part[field]
    if (field === undefined || typeof id !== 'string') return part
    const isNew = part.type === 'tool-call' ? given.has(id) : !renamed.has(id)
    if (isNew || !renamed.has(id)) {
      let name = id
      for (let number = 2; taken.has(name) || [...renamed.values()].includes(name); number += 1) name = `${id}~${number}`
      renamed.set(id, name)
    }
    if (part.type === 'tool-call') given.add(id)
    return { ...part, [field]: renamed.get(id) ?? id }
  })
}

function note(parts: readonly Part[], ids: Set<string>): void {
  for (const { type, toolCallId } of parts) if (type === 'tool-call' && toolCallId !== undefined) ids.add(toolCallId)
}
