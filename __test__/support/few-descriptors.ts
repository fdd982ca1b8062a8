import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Sandbox } from './sandbox.ts'

/** Runs a module, whose argument is the root, in a process with so few descriptors, and gives the JSON that it prints. */
export async function runWithDescriptors(count: number, program: string, fixture: Sandbox): Promise<unknown> {
  fixture.put('program.mjs', program)
  const command = `ulimit -n ${count} && exec "$0" "$@"`
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, fixture.at('program.mjs'), fixture.root])
  return JSON.parse(stdout) as unknown
}
