import type { ContractTool } from '../contract-tool.js'
import type { CommandEnd } from '../tool-runtime.js'
import { LimitedOutput } from '../limited-output.js'
import { parameters, pathParameter } from './parameters.js'

/** Arguments of `bash`. */
export interface BashArguments {
  command: string
  workdir?: string
  timeout_ms?: number
  description?: string
}

/** What `bash` gives: both outputs, or the beginning of both as they came. */
export type BashData =
  | Pick<CommandEnd, 'stdout' | 'stderr' | 'exit_code' | 'signal' | 'timed_out'>
  | ({ head: string } & Pick<CommandEnd, 'exit_code' | 'signal' | 'timed_out'>)

/** One command line, in the sandbox. */
export const bashTool: ContractTool<BashArguments, LimitedOutput> = {
  id: 'bash',
  description:
    'Run one command line with sh -c. Nothing carries over to the next call: neither directory nor variables. stdin is closed. A non-zero exit_code is a result, not an error.',
  parameters: parameters(
    {
      command: { type: 'string', minLength: 1, maxLength: 65_536, pattern: '^\\s*[^\\u0000\\s][^\\u0000]*$', description: 'The command line' },
      workdir: pathParameter('The directory to run in. Default: the workspace'),
      timeout_ms: { type: 'integer', minimum: 1, maximum: 3_600_000, description: 'When to stop it. Default 60000' },
      description: { type: 'string', maxLength: 1000, description: 'What it does, in a few words, for the user' },
    },
    ['command'],
  ),
  requires: { shell: [{ cmd: '*' }] },
  kind: 'execute',
  targets: ({ command, workdir }) => [{ kind: 'command', command, workdir }],
  async execute({ command, workdir, timeout_ms }, { shell }) {
    const { stdout, stderr, head, output_path, ...how } = await shell.run(command, { workdir, timeout_ms })
    return head === undefined ? new LimitedOutput({ stdout, stderr, ...how }) : new LimitedOutput({ head, ...how }, output_path, true)
  },
}
