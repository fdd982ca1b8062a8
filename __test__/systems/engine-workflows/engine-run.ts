import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { putPackageInto } from '../../support/npm-project.ts'

const tests = fileURLToPath(new URL('../..', import.meta.url))
const bun = join(dirname(tests), 'node_modules', '.bin', 'bun')
const programs = join('systems', 'engine-workflows', 'program')

/** A project with the engine, this package and the programs that use both. */
export interface EngineProject {
  /** A place for one run, with a root directory that holds `greeting.txt`. */
  makeRun(): EngineRun
  remove(): void
}

/** What a program tells at its end. */
export interface Report extends Record<string, unknown> {
  /** The status of the run. */
  status: string
  /** What the user said to the model, in each call of it. */
  prompts: string[]
}

/** Places of one run of a workflow, and its database. */
export interface EngineRun {
  /** The engine's database. */
  database: string
  /** The absolute path of a name in the root directory. */
  at(path: string): string
  /** Runs a program under Bun to its end; rejects when it fails. */
  finish(program: string, args?: string[]): Promise<Report>
  /** Starts a program, to be killed. */
  start(program: string, args?: string[]): ChildProcess
  /** Rows of a table of the engine's database, the oldest first. */
  rows(table: string): Row[]
}

export type Row = Record<string, string | number | null>

/** Makes a project below `engine`, whose packages it finds there. */
export function makeEngineProject(engine: string): EngineProject {
  const folder = mkdtempSync(join(engine, 'project-'))
  putPackageInto(folder)
  const model = join('support', 'scripted-model.ts')
  for (const part of [programs, model]) cpSync(join(tests, part), join(folder, '__test__', part), { recursive: true })
  const places: string[] = []
  const children: ChildProcess[] = []
  return {
    makeRun() {
      const place = realpathSync(mkdtempSync(join(tmpdir(), 'toolwright-engine-')))
      places.push(place)
      return openRun(join(folder, '__test__', programs), place, children)
    },
    remove() {
      // Of a test that failed, a program may still wait for what does not come.
      for (const child of children) child.kill('SIGKILL')
      for (const place of [folder, ...places]) rmSync(place, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

function openRun(folder: string, place: string, children: ChildProcess[]): EngineRun {
  const at = (path: string): string => join(place, 'root', path)
  const database = join(place, 'run.db')
  mkdirSync(at(''))
  writeFileSync(at('greeting.txt'), 'hello\n')
  const start: EngineRun['start'] = (program, args = []) => {
    const child = spawn(bun, [join(folder, `${program}.mjs`), ...args], {
      cwd: place,
      // The engine logs to stdout, and much.
      env: { ...process.env, SMITHERS_LOG_LEVEL: 'none', HOME: place },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    children.push(child)
    return child
  }
  return {
    database,
    at,
    start,
    async finish(program, args) {
      const child = start(program, args)
      let stderr = ''
      child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
      const code = await new Promise((resolve) => child.on('close', resolve))
      if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${stderr}`)
      return JSON.parse(readFileSync(join(place, 'report.json'), 'utf8')) as Report
    },
    rows(table) {
      const opened = new DatabaseSync(database, { readOnly: true })
      try {
        return opened.prepare(`SELECT * FROM ${table} ORDER BY rowid`).all() as Row[]
      } finally {
        opened.close()
      }
    },
  }
}
