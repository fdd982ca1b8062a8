import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The directory of the project. */
export const project = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/u, '')

/** Where tests make directories that are closed to commands. Not in `/tmp`, which a command has for itself. */
export const closedPlace = project.startsWith(tmpdir()) ? homedir() : join(project, '.cache', 'confinement')

/** The programs of crates/attacks. */
export interface Programs {
  /** Attacks, and plays the other parts of a test. */
  attack: string
  /** Runs a program where some system calls fail. */
  deny: string
}

let built: Promise<Programs> | undefined

/** Builds the programs, static so that they run under every root directory. */
export function programs(): Promise<Programs> {
  built ??= build()
  return built
}

async function build(): Promise<Programs> {
  // A machine without a compiler has them from elsewhere.
  const made = process.env['TOOLWRIGHT_ATTACKS']
  if (made !== undefined) return { attack: join(made, 'attack'), deny: join(made, 'deny') }
  const target = `${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch as string]}-unknown-linux-${libc()}`
  const folder = join(project, 'target', 'attacks')
  const args = ['build', '--quiet', '-p', 'toolwright-attacks', '--target', target, '--target-dir', folder]
  const env = { ...process.env, RUSTFLAGS: '-C target-feature=+crt-static -C strip=symbols', CARGO_PROFILE_DEV_DEBUG: '0' }
  await alone(join(project, 'target', 'attacks.lock'), () => {
    execFileSync('cargo', args, { cwd: project, env, stdio: ['ignore', 'inherit', 'inherit'] })
  })
  const at = (name: string): string => join(folder, target, 'debug', name)
  return { attack: at('attack'), deny: at('deny') }
}

function libc(): string {
  const { glibcVersionRuntime } = (process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header
  return glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

/** Test files run at the same time, and a program must not change while another file runs it. */
async function alone(lock: string, work: () => void): Promise<void> {
  const end = performance.now() + 60_000
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch {
      // One that was left by a run that was killed is not waited for forever.
      if (performance.now() > end) break
      await pause(50)
    }
  }
  try {
    work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}
