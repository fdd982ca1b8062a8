import { expect } from 'vitest'
import type { SandboxSession } from 'toolwright/sandbox'

/** A sandbox session of some implementation, and the directory in which its commands start. */
export interface Subject {
  session: SandboxSession
  base: string
}

/** One promise of the AI SDK's documents, and how it is checked. */
export type Promises = Readonly<Record<string, (subject: Subject) => Promise<void>>>

const encoder = new TextEncoder()
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)
/** Every byte. */
export const allBytes = Uint8Array.from({ length: 256 }, (_, index) => index)

/** All bytes of a stream. */
export async function collect(stream: ReadableStream<Uint8Array> | null | undefined): Promise<Uint8Array> {
  expect(stream).toBeInstanceOf(ReadableStream)
  return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array>).arrayBuffer())
}

export async function collectText(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new TextDecoder().decode(await collect(stream))
}

/** Reads until a text has come. */
export async function until(reader: ReadableStreamDefaultReader<Uint8Array>, text: string): Promise<string> {
  const decoder = new TextDecoder()
  for (let all = ''; ;) {
    if (all.includes(text)) return all
    const { value, done } = await reader.read()
    if (done) throw new Error(`${JSON.stringify(text)} is not in ${JSON.stringify(all)}`)
    all += decoder.decode(value, { stream: true })
  }
}

/** A stream of these parts, each of which is asked for. */
export function streamOf(...parts: Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = [...parts]
  return new ReadableStream({
    pull(controller) {
      const part = rest.shift()
      if (part === undefined) controller.close()
      else controller.enqueue(part)
    },
  })
}

/** What a command prints, if it succeeds. */
export async function printed({ session }: Subject, command: string): Promise<string> {
  const { exitCode, stdout, stderr } = await session.run({ command })
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return stdout
}

/** Rejects with exactly this reason. */
export async function rejectsWith(work: PromiseLike<unknown>, reason: unknown): Promise<void> {
  const outcome = await Promise.resolve(work).then(
    () => 'resolved',
    (error: unknown) => ({ error }),
  )
  expect(outcome).not.toBe('resolved')
  expect((outcome as { error: unknown }).error).toBe(reason)
}
