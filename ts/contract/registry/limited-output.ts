import type { CommandEnd } from './tool-runtime.js'
import { type Outcome, thrownText, ContractFailure } from './envelope.js'

/** What the metadata says of a command beside its output. */
type CommandFacts = Pick<CommandEnd, 'notes' | 'changed_files' | 'connections' | 'denials' | 'masked'>

/** The result of a tool that keeps to its own limit. */
export class LimitedOutput {
  readonly data: unknown
  readonly outcome: Outcome

  constructor(
    data: unknown,
    output_path?: string,
    truncated = output_path !== undefined,
    { notes = [], changed_files = [], connections = [], denials = [], masked = [] }: CommandFacts = {},
  ) {
    this.data = data
    this.outcome = {
      truncated,
      ...(output_path === undefined ? {} : { output_path }),
      notes: [...notes],
      changed_files: [...changed_files],
      connections: [...connections],
      denials: [...denials],
      masked: [...masked],
    }
  }
}

/** Tells a model where the whole of a cut output is. */
export const wholeIn = (path: string): string => `All of it is in ${path}: \`read\` takes that path (offset and limit count bytes).`

/** The same of an output that was too long for its file. */
export const partlyIn = (path: string, unkept: number): string =>
  `Its beginning and its end are in ${path}, and ${unkept} bytes between them are in no file: a line there says where. \`read\` takes that path (offset and limit count bytes).`

/** The last place at or before `end` where a character begins; `end` if the bytes are not text. */
export function characterBoundary(bytes: Uint8Array, end: number): number {
  const last = Math.min(end, bytes.length)
  let at = last
  while (at > 0 && at < bytes.length && last - at < MAX_CHARACTER_BYTES - 1 && isInside(bytes[at])) at -= 1
  return isInside(bytes[at]) ? last : at
}

export const MAX_CHARACTER_BYTES = 4
/** Whether a byte continues a character. */
export const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The beginning of a text, at most `limitBytes` of it, on the boundary of a character. */
export function headOf(text: string, limitBytes: number): string {
  // Every UTF-16 unit takes one byte at least.
  const bytes = Buffer.from(text.slice(0, limitBytes), 'utf8')
  return bytes.toString('utf8', 0, characterBoundary(bytes, limitBytes))
}

/**
 * Makes the data of an envelope from the result of a tool: the whole result, or its beginning and a file with all of it.
 *
 * @param keep writes a text into a file, up to a limit, and gives the path.
 * @throws {ContractFailure} invalid_output for a result that JSON cannot hold.
 */
export async function fitOutput(
  returned: unknown,
  limits: { outputBytes: number; sidecarBytes: number },
  keep: (text: string, limitBytes: number) => Promise<string>,
): Promise<{ data: unknown; outcome: Outcome }> {
  if (returned instanceof LimitedOutput) return { data: returned.data, outcome: returned.outcome }
  const json = jsonOf(returned)
  if (json === undefined) return { data: null, outcome: {} }
  const text = typeof returned === 'string' ? returned : json
  if (isWithin(text, limits.outputBytes)) {
    // The model, the journal and the caller see the same: a date, for example, is its text.
    return { data: typeof returned === 'string' ? returned : (JSON.parse(json) as unknown), outcome: {} }
  }
  const head = headOf(text, limits.outputBytes)
  try {
    const path = await keep(text, limits.sidecarBytes)
    return { data: { head }, outcome: { truncated: true, output_path: path, notes: [`The beginning is shown. ${wholeIn(path)}`] } }
  } catch (error) {
    // The tool has done its work. If the call failed, the model would repeat it.
    return { data: { head: `${head}\n[The rest is lost: ${thrownText(error)}]` }, outcome: { truncated: true } }
  }
}

/** Whether a text fits. Most are so short that their bytes need not be counted. */
export const isWithin = (text: string, limitBytes: number): boolean =>
  text.length * 3 <= limitBytes || Buffer.byteLength(text) <= limitBytes

/** The text of a failure, cut as an output is, with a note that says so. */
export function fitError(text: string, limitBytes: number): string {
  if (isWithin(text, limitBytes)) return text
  return `${headOf(text, limitBytes)}\n[The rest of the ${text.length} characters is left out.]`
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be written'
    throw new ContractFailure('invalid_output', `The tool gave something that is no JSON: ${why}.`, { cause: error })
  }
}
