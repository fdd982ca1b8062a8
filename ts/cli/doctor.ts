import { sandboxKinds, sandboxReport, type SandboxReport } from '../toolkit/sandbox-report.js'
import { parseCommandLine, versions } from './program.js'

const HELP = `Usage: toolwright doctor [options]

Runs a command in the sandbox with the default options and shows for each protection how well it holds
on this system (kernel, best-effort or none), by which mechanism, and after an arrow what would make it
better. The first line has the versions that a report of a problem needs.

  --root <directory>   the root directory (default: the current one)
  --allow-network      as if the tools had allowNetwork: true
  --json               the report as JSON
  --help               this text

Ends with 1 if the network cannot be blocked on this system: bash then refuses every command, unless
allowNetwork is true.
`

const options = {
  root: { type: 'string' },
  'allow-network': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export async function doctor(args: string[]): Promise<number> {
  const line = parseCommandLine(HELP, { args, options })
  if (line === undefined) return 0
  const { root, json, ...rest } = line.values
  const allowNetwork = rest['allow-network'] === true
  const report = await sandboxReport({ rootDir: root ?? process.cwd(), allowNetwork })
  process.stdout.write(json === true ? `${JSON.stringify({ versions: versions(), ...report }, undefined, 2)}\n` : render(report))
  return allowNetwork || report.network.level === 'kernel' ? 0 : 1
}

function render(report: SandboxReport): string {
  const lines = Object.entries(sandboxKinds).map(([kind, name]) => {
    const { level, mechanism, advice } = report[kind as keyof typeof sandboxKinds]
    const line = `${name.padEnd(14)} ${level.padEnd(12)} ${mechanism}\n`
    return advice === '' ? line : `${line}${' '.repeat(28)}→ ${advice}\n`
  })
  const { toolwright, runtime, system } = versions()
  return `toolwright ${toolwright}, ${runtime}, ${system}\n\n${lines.join('')}\n${report.summary}\n`
}
