import { parseArgs } from 'node:util'
import { sandboxKinds, sandboxReport, type SandboxReport } from '../sandbox-report.js'
import { UsageError } from './usage-error.js'

const HELP = `Usage: toolwright doctor [options]

Confines a command with the default options and shows what holds: by the kernel, as best effort, or
not at all; by which mechanism; and what to do to get more.

  --root <directory>   the root directory (default: the current one)
  --allow-network      as with allowNetwork
  --json               the report as JSON
  --help               this text

Ends with 1 if a blocked network would not hold, so that commands are refused.
`

/** `toolwright doctor`. */
export async function doctor(args: string[]): Promise<number> {
  const { root, json, help, ...rest } = parse(args)
  if (help === true) {
    process.stdout.write(HELP)
    return 0
  }
  const allowNetwork = rest['allow-network'] === true
  const report = await sandboxReport({ rootDir: root ?? process.cwd(), allowNetwork })
  process.stdout.write(json === true ? `${JSON.stringify(report, undefined, 2)}\n` : render(report))
  return allowNetwork || report.network.level === 'kernel' ? 0 : 1
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        root: { type: 'string' },
        'allow-network': { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function render(report: SandboxReport): string {
  const lines = Object.entries(sandboxKinds).map(([kind, name]) => {
    const { level, mechanism, advice } = report[kind as keyof typeof sandboxKinds]
    const line = `${name.padEnd(14)} ${level.padEnd(12)} ${mechanism}\n`
    return advice === '' ? line : `${line}${' '.repeat(28)}→ ${advice}\n`
  })
  return `${lines.join('')}\n${report.summary}\n`
}
