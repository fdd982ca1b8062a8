import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { makeNpmProject, type NpmProject } from '../../support/npm-project.ts'
import { listFiles } from './list-files.ts'
import type { Project } from './project.ts'

const TIMEOUT_MS = 300_000
/** Whom a root host runs the projects as besides itself. */
const ORDINARY = 1000

/** The users as whom the projects run: root and an ordinary one, or the one that this process has. */
export function users(): string[] {
  return userInfo().uid === 0 ? ['root', 'an ordinary user'] : ['this user']
}

const identityOf = (user: string): { uid?: number; gid?: number } => (user === 'an ordinary user' ? { uid: ORDINARY, gid: ORDINARY } : {})

/** A program that a project needs and a user of this machine does not have. */
export function missingProgram({ needs = [] }: Project, user: string): string | undefined {
  const options = { env: environment('/'), cwd: '/', ...identityOf(user) }
  return needs.find((name) => spawnSync('sh', ['-c', `command -v ${name}`], options).status !== 0)
}

/** Programs of PostgreSQL lie in a directory for each version. */
const POSTGRES = spawnSync('sh', ['-c', 'ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1'], { encoding: 'utf8' }).stdout.trim()

/** Where a toolchain that rustup keeps in a home directory lies. */
const RUST = { RUSTUP_HOME: process.env['RUSTUP_HOME'] ?? join(userInfo().homedir, '.rustup') }
/** How this machine reaches registries. */
const REGISTRIES = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(?:NODE_EXTRA_CA|SSL_CERT|REQUESTS_CA|CURL_CA|PIP_|UV_|GOPROXY|GOSUM|HTTPS?_PROXY|https?_proxy|npm_config_registry)/.test(name),
  ),
)

const environment = (home: string): Record<string, string | undefined> => ({
  ...REGISTRIES,
  ...RUST,
  PATH: [
    dirname(process.execPath),
    '/usr/local/bin',
    '/usr/bin',
    '/bin',
    '/usr/sbin',
    '/sbin',
    POSTGRES,
    join(userInfo().homedir, '.cargo/bin'),
  ]
    .filter(Boolean)
    .join(':'),
  HOME: home,
  LANG: 'C.UTF-8',
  npm_config_update_notifier: 'false',
})

/** How a run ended, and what it left. */
export interface Run {
  code: number | null
  output: string
  ms: number
  files: Record<string, string>
  after: string
}

/** How a run in a fork ended, and what was there when the fork was applied. */
export interface ForkRun extends Run {
  /** Whether the directory was as before until then. */
  isBaseSame: boolean
  applied: { code: number | null; output: string; files: Record<string, string> }
}

/** The projects of one run of the suite, below a directory that is removed afterwards. */
export class Everyday {
  readonly #base: string
  readonly #host: NpmProject
  readonly #prepared = new Set<string>()
  readonly #times: { name: string; user: string; outside: number; inside: number }[] = []

  private constructor(base: string, host: NpmProject) {
    this.#base = base
    this.#host = host
  }

  static async make(): Promise<Everyday> {
    const host = await makeNpmProject(['ai', 'zod'])
    for (const name of ['runner.mjs', 'list-files.ts']) copyFileSync(fileURLToPath(new URL(name, import.meta.url)), join(host.folder, name))
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'everyday-')))
    for (const folder of [host.folder, base]) chmodSync(folder, 0o755)
    for (const user of users()) {
      mkdirSync(join(base, user))
      if (user === 'an ordinary user') chownSync(join(base, user), ORDINARY, ORDINARY)
    }
    return new Everyday(base, host)
  }

  /** Makes the files of a project and what it needs, once. Returns its folder, which is the same in every run. */
  prepare(project: Project): string {
    const place = join(this.#base, project.name.replaceAll(/\W+/g, '-'))
    const folder = join(place, 'project')
    if (this.#prepared.has(project.name)) return folder
    mkdirSync(folder, { recursive: true })
    for (const [path, content] of Object.entries(project.files ?? {})) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const home = join(this.#base, users()[0] ?? '')
    const made = spawnSync('bash', ['-c', project.prepare ?? 'true'], {
      cwd: folder,
      env: environment(home),
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
    })
    if (made.status !== 0) throw new Error(`${project.name} cannot be prepared: ${made.stdout}${made.stderr}`)
    spawnSync('cp', ['-a', folder, join(place, 'template')])
    this.#prepared.add(project.name)
    return folder
  }

  /** Runs the work in a fresh copy of the project. */
  run(project: Project, folder: string, user: string, where: 'outside' | 'inside'): Run {
    this.#renew(folder, user)
    const { script, after = 'true', differs } = project
    const ran = this.#ask(user, { rootDir: folder, script, where })
    const answers = spawnSync('sh', ['-c', `exec 2>&1; ${after}`], {
      cwd: folder,
      env: environment(join(this.#base, user)),
      encoding: 'utf8',
      ...identityOf(user),
    })
    return { ...ran, files: listFiles(folder, differs?.source), after: answers.stdout }
  }

  /** Runs the work in a fork of a fresh copy, and applies the fork. */
  runInFork(project: Project, folder: string, user: string): ForkRun {
    this.#renew(folder, user)
    const store = join(this.#base, user, 'forks')
    const before = listFiles(folder)
    const { script, after = 'true', differs } = project
    const ran = this.#ask<Run & { fork: string }>(user, { rootDir: folder, script, after, differs: differs?.source, where: 'fork', store })
    const base = listFiles(folder)
    const applied = this.#ask(user, { rootDir: folder, where: 'apply', store, fork: ran.fork })
    return { ...ran, isBaseSame: isDeepStrictEqual(base, before), applied: { ...applied, files: listFiles(folder, differs?.source) } }
  }

  #renew(folder: string, user: string): void {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    spawnSync('cp', ['-a', join(dirname(folder), 'template'), folder])
    if ('uid' in identityOf(user)) spawnSync('chown', ['-R', `${ORDINARY}:${ORDINARY}`, folder])
  }

  #ask<T = Run>(user: string, request: object): T {
    const ran = spawnSync(
      process.execPath,
      [join(this.#host.folder, 'runner.mjs'), JSON.stringify({ ...request, timeoutMs: TIMEOUT_MS })],
      {
        cwd: this.#host.folder,
        env: environment(join(this.#base, user)),
        encoding: 'utf8',
        timeout: TIMEOUT_MS + 30_000,
        maxBuffer: 1 << 28,
        ...identityOf(user),
      },
    )
    const last = ran.stdout.trim().split('\n').at(-1) ?? ''
    if (!last.startsWith('{')) throw new Error(`the runner ended with ${ran.status}: ${ran.stdout}${ran.stderr}`)
    return JSON.parse(last) as T
  }

  time({ name }: Project, user: string, outside: number, inside: number): void {
    this.#times.push({ name, user, outside, inside })
  }

  /** Prints the times, and removes everything. */
  remove(): void {
    const rows = this.#times.map(
      ({ name, user, outside, inside }) =>
        `${(inside / outside).toFixed(2)}  ${(outside / 1000).toFixed(1).padStart(6)} s  ${name} (${user})`,
    )
    const long = this.#times.filter(({ outside }) => outside > 1000).map(({ outside, inside }) => inside / outside)
    const median = long.sort((a, b) => a - b)[long.length >> 1]
    console.log(
      `inside/outside, outside\n${rows.sort().join('\n')}\nmedian beyond one second of work: ${median?.toFixed(2)} of ${long.length}`,
    )
    this.#host.remove()
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 3 })
  }
}
