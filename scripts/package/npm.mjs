import { spawnSync } from 'node:child_process'

/**
 * npm's own variables of the `npm run` that started this would leak into the npm started
 * here: its prefix, its flags, the name of the package.
 */
export const cleanEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry$)/i.test(name)))

/** Runs a program to its end; throws with its output when it fails. Returns its stdout. */
export function capture(program, args, { cwd, env = cleanEnvironment() }) {
  const options = { cwd, env, encoding: 'utf8', timeout: 5 * 60_000, maxBuffer: 64 * 2 ** 20 }
  const { status, signal, error, stdout, stderr } = spawnSync(program, args, options)
  if (error) throw new Error(`${program} ${args[0]}: ${error.message}`)
  if (status !== 0) {
    throw new Error(`${program} ${args[0]} ended with ${signal ?? status}\n${stdout}${stderr}`.trim())
  }
  return stdout
}

export const npm = (args, cwd) => capture('npm', [...args, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'], { cwd })
