#!/usr/bin/env node
/** The `toolwright` command. */
import { calls } from './cli/calls.js'
import { doctor } from './cli/doctor.js'
import { UsageError } from './cli/usage-error.js'
import { ToolError } from './errors.js'

const HELP = `Usage: toolwright <command> [options]

Commands:
  calls     shows the recorded calls of a journal
  doctor    shows what holds around commands of bash on this system, and what would give more

toolwright <command> --help shows the options of a command.
`

const commands: Record<string, (args: string[]) => Promise<number>> = { calls, doctor }

async function main([name = '', ...args]: string[]): Promise<number> {
  if (['', 'help', '--help', '-h'].includes(name)) {
    process.stdout.write(HELP)
    return name === '' ? 2 : 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new UsageError(`unknown command ${JSON.stringify(name)}`)
  return command(args)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`toolwright: ${error.message}; see toolwright --help\n`)
    process.exitCode = 2
  } else if (ToolError.isInstance(error)) {
    process.stderr.write(`toolwright: ${error.message}\n`)
    process.exitCode = 1
  } else throw error
}
