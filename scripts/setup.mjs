// Brings a checkout to a runnable state, then runs what follows `--`.
// It starts before anything is installed, so it uses Node's own modules only.
import { chooseSteps, runSteps } from './setup/steps.mjs'
import { checkRuntime } from './setup/requirements.mjs'
import { SetupError } from './setup/setup-error.mjs'
import { runCommand } from './setup/run-command.mjs'
import { withLock } from './setup/lock.mjs'
import { say } from './setup/progress.mjs'

const HELP = `Usage: node scripts/setup.mjs [--force] [--release] [-- command …]

Installs the npm dependencies, builds the native addon and compiles ts/ to dist/,
each only when its inputs have changed, then runs the command with node_modules/.bin
first on PATH.

  --force     build the addon and dist/ even if nothing has changed
  --release   build the addon as it is published: it takes twice as long, and is faster and smaller
  --help      show this text
`

function parseArguments(args) {
  const split = args.indexOf('--')
  const own = split === -1 ? args : args.slice(0, split)
  const unknown = own.find((arg) => !['--force', '--release', '--help', '-h'].includes(arg))
  if (unknown !== undefined) throw new SetupError(`unknown option ${unknown}; see --help`)
  return {
    force: own.includes('--force'),
    profile: own.includes('--release') ? 'release' : 'checkout',
    help: own.includes('--help') || own.includes('-h'),
    command: split === -1 ? [] : args.slice(split + 1),
  }
}

async function main() {
  const { help, command, ...wanted } = parseArguments(process.argv.slice(2))
  if (help) {
    process.stdout.write(HELP)
    return
  }
  // The common case takes no lock: nothing to do means nothing to protect.
  if (chooseSteps(wanted).length === 0) say('up to date')
  else await withLock(() => runSteps(wanted))
  checkRuntime()
  if (command.length > 0) await runCommand(command)
}

main().catch((error) => {
  if (!(error instanceof SetupError)) throw error
  say(error.message)
  process.exitCode = 1
})
