#!/usr/bin/env node
/** The `toolwright` command. */
import { calls } from './cli/calls.js'
import { doctor } from './cli/doctor.js'
import { UsageError, version } from './cli/program.js'
import { ToolError } from './core/errors.js'

const HELP = `Usage: toolwright <command> [options]

Commands:
  calls     shows the recorded calls of a journal
  doctor    shows how commands of bash are confined on this system, and what would confine them better

toolwright <command> --help shows the options of a command, toolwright --version the version.
`

const commands: Record<string, (args: string[]) => Promise<number>> = { calls, doctor }

async function main([name = '', ...rest]: string[]): Promise<number> {
  if (name === 'help' && rest[0] !== undefined) return main([rest[0], '--help'])
  if (['', 'help', '--help', '-h'].includes(name)) {
    process.stdout.write(HELP)
    return name === '' ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${version()}\n`)
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new UsageError(`unknown command ${JSON.stringify(name)}`)
  return command(rest)
}

const args = process.argv.slice(2)
try {
  process.exitCode = await main(args)
} catch (error) {
  if (error instanceof UsageError) {
    const [name = ''] = args
    const command = Object.hasOwn(commands, name) ? `toolwright ${name}` : 'toolwright'
    process.stderr.write(`toolwright: ${error.message}; see ${command} --help\n`)
    process.exitCode = 2
  } else if (ToolError.isInstance(error)) {
    process.stderr.write(`toolwright: ${error.message}\n`)
    process.exitCode = 1
  } else throw error
}
