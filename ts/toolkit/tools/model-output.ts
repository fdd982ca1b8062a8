/** The texts that a model reads of calls: results, and notes after them. */
import type { ModelImage } from '../../documents/images.js'
import type { ModelText } from '../../documents/model-image.js'
import type { LanguageServers } from '../../language-servers/language-servers.js'
import type { ToolCallOptions } from '../../journal/calls/call-record.js'
import type { OnGrant } from '../grants.js'
import type { ToolProcesses } from './tool-processes.js'
import type { TrackedCalls } from './tracked-calls.js'

/** The AI SDK's request for the model's form of a result. */
export interface ModelOutputRequest<INPUT> {
  toolCallId: NonNullable<ToolCallOptions['toolCallId']>
  input: INPUT
  output: string
}

/** What follows a change of files before its answer. */
export interface Followers {
  /** Whether files are formatted after a change. */
  formats: boolean
  /** The language servers of a set that has them. */
  languageServers?: LanguageServers | undefined
}

/** The additions of `createTools` to the documents' tools. */
export interface Toolkit extends Followers {
  notes: CallNotes
  lineNumbers: boolean
  /** Whether `read` shows what is in documents. */
  documents: boolean
  /** The processes of a set with process tools. */
  processes?: ToolProcesses | undefined
  /** Whether a command continues as one of them at its timeout. */
  goesOn?: boolean | undefined
  /** Who is asked about grants of `bash`. */
  onGrant?: OnGrant | undefined
  /** The checkpoints of a set that has them. */
  tracked?: TrackedCalls | undefined
}

/** The note of one call. */
export interface CallNote {
  /** Sentences that follow the result. */
  text?: string | undefined
  image?: ModelImage | undefined
}

/** The call that a note belongs to. Providers reuse ids, so tool and subject are part of the key. */
export interface NotedCall {
  toolCallId: string | undefined
  tool: 'read' | 'write' | 'edit' | 'bash' | 'grep' | 'glob'
  /** The path, the program that runs, or the pattern. */
  subject: string
}

const MAX_NOTES = 1_000
const MAX_IMAGE_BYTES = 64_000_000

/**
 * The notes of the calls of one set of tools, separate from the results, whose shape is documented. The AI SDK asks
 * for them when it builds the messages of a step, and again when it builds the messages of a stored conversation. The
 * oldest notes are dropped first; notes of other processes are unknown.
 */
export class CallNotes {
  readonly #notes = new Map<string, CallNote>()
  #imageBytes = 0

  /** Replaces the note of an earlier call with the same key. Every call begins with an empty note. */
  set(call: NotedCall, note: CallNote): void {
    if (call.toolCallId === undefined) return
    const isEmpty = note.text === undefined && note.image === undefined
    if (isEmpty && this.#notes.size === 0) return
    const key = keyOf(call)
    this.#drop(key)
    if (isEmpty) return
    this.#notes.set(key, note)
    this.#imageBytes += note.image?.bytes.byteLength ?? 0
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MAX_NOTES && this.#imageBytes <= MAX_IMAGE_BYTES) break
      this.#drop(oldest)
    }
  }

  /** Adds to those of a call what language servers have found of earlier ones. */
  addLate(call: NotedCall, { languageServers }: Pick<Toolkit, 'languageServers'>): void {
    if (languageServers !== undefined && call.toolCallId !== undefined) this.add(call, languageServers.takeLate())
  }

  /** Adds sentences to those of a call. */
  add(call: NotedCall, text: string | undefined): void {
    if (text === undefined) return
    const note = this.get(call)
    this.set(call, { ...note, text: note.text === undefined ? text : `${note.text}\n${text}` })
  }

  get(call: NotedCall): CallNote {
    return this.#notes.get(keyOf(call)) ?? {}
  }

  #drop(key: string): void {
    this.#imageBytes -= this.#notes.get(key)?.image?.bytes.byteLength ?? 0
    this.#notes.delete(key)
  }
}

const keyOf = ({ toolCallId, tool, subject }: NotedCall): string => JSON.stringify([toolCallId, tool, subject])

/** Notes as one; `undefined` if there are none. */
export function joinedNotes(...notes: readonly (string | null | undefined)[]): string | undefined {
  const told = notes.filter((note) => note !== undefined && note !== null)
  return told.length === 0 ? undefined : told.join('\n')
}

/** A result, or a placeholder for an empty one, followed by the note of the call and further sentences. */
export function textWithNotes(result: string, ...notes: readonly (string | undefined)[]): ModelText {
  const value = notes.reduce<string>(
    (text, note) => (note === undefined ? text : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${note}`),
    result,
  )
  return { type: 'text', value }
}
