import type { ContractTool } from '../registry/contract-tool.js'
import { LimitedOutput, partlyIn, wholeIn } from '../registry/limited-output.js'
import type { ShellName, CommandEnd } from '../registry/tool-runtime.js'
import { aCount, aFlag, aText, dataSchemaOf } from '../registry/output-schema.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `bash`. */
export interface BashArguments {
  command: string
  workdir?: string
  timeout_ms?: number
  description?: string
}

/** The result of `bash`: both outputs, or the beginning and the end of both in order of arrival, with the number of bytes left out. */
export type BashData =
  | Pick<CommandEnd, 'stdout' | 'stderr' | 'exit_code' | 'signal' | 'timed_out'>
  | ({ head: string; tail?: string; left_out_bytes?: number } & Pick<CommandEnd, 'exit_code' | 'signal' | 'timed_out'>)

/** The description of `bash` for a session with this shell. */
export function bashDescription(shell: ShellName | undefined, outputBytes?: number): string {
  const how = {
    bash: 'Run one command line with bash -c.',
    sh: 'Run one command line with sh -c: a POSIX shell and not bash, so without [[ ]], arrays, &>, <<< and <( ).',
    unknown: 'Run one command line with the shell of the session.',
  }[shell ?? 'unknown']
  const size = outputBytes === undefined ? 'than fits' : `than ${outputBytes} bytes`
  return (
    `${how} Nothing carries over to the next call: neither directory nor variables. stdin is closed. ` +
    'A non-zero exit_code is a result, not an error. Programs still running in the background are stopped at the end. ' +
    `Of an output longer ${size}, head and tail are given; metadata.output_path is a file with all of it, which read takes (offset, limit) and commands too (tail, grep).`
  )
}

/** One command line, in the sandbox. */
export const bashTool: ContractTool<BashArguments, LimitedOutput> = {
  id: 'bash',
  description: bashDescription(undefined),
  parameters: parameters(
    {
      command: {
        type: 'string',
        minLength: 1,
        maxLength: 65_536,
        pattern: '^\\s*[^\\u0000\\s][^\\u0000]*$',
        description: 'The command line',
      },
      workdir: pathParameter('The directory to run in. Default: the workspace'),
      timeout_ms: { type: 'integer', minimum: 1, maximum: 3_600_000, description: 'When to stop it. Default 60000' },
      description: { type: 'string', maxLength: 1000, description: 'What it does, in a few words, for the user' },
    },
    ['command'],
  ),
  outputSchema: dataSchemaOf<BashData>(
    {
      stdout: aText,
      stderr: aText,
      exit_code: { type: ['integer', 'null'] },
      signal: { type: ['string', 'null'] },
      timed_out: aFlag,
      head: aText,
      tail: aText,
      left_out_bytes: aCount,
    },
    ['stdout', 'stderr', 'exit_code', 'signal', 'timed_out'],
    ['head', 'exit_code', 'signal', 'timed_out'],
  ),
  requires: { shell: [{ cmd: '*' }] },
  kind: 'execute',
  targets: ({ command, workdir }) => [{ kind: 'command', command, workdir }],
  async execute({ command, workdir, timeout_ms }, { shell }) {
    const {
      stdout,
      stderr,
      head,
      tail,
      left_out_bytes,
      unkept_bytes,
      output_path,
      notes = [],
      changed_files,
      connections,
      denials,
      masked,
      ...how
    } = await shell.run(command, { workdir, timeout_ms })
    const facts = { notes, changed_files, connections, denials, masked }
    if (head === undefined) {
      const allNotes = [...drawnNotes(output_path, unkept_bytes), ...notes]
      return new LimitedOutput({ stdout, stderr, ...how }, output_path, false, { ...facts, notes: allNotes })
    }
    const ends = { head, ...(tail === undefined ? {} : { tail }), ...(left_out_bytes === undefined ? {} : { left_out_bytes }) }
    const allNotes = [...cutNotes(left_out_bytes, tail, output_path, unkept_bytes), ...notes]
    return new LimitedOutput({ ...ends, ...how }, output_path, true, { ...facts, notes: allNotes })
  },
}

/** Says where the bytes are of which a model reads what they have drawn. */
function drawnNotes(path: string | undefined, unkept = 0): string[] {
  if (path === undefined) return []
  const kept = unkept === 0 ? wholeIn(path) : partlyIn(path, unkept)
  return [`It drew over its own output, of which the last state is shown. ${kept}`]
}

function cutNotes(leftOut: number | undefined, tail: string | undefined, path: string | undefined, unkept = 0): string[] {
  if (leftOut === undefined || path === undefined) return []
  const where = tail === undefined ? 'behind head' : 'between head and tail'
  const kept = unkept === 0 ? wholeIn(path) : partlyIn(path, unkept)
  return [`${leftOut} bytes of the output are left out ${where}. ${kept} Commands take it too, as in \`tail -n 50 ${path}\`.`]
}
