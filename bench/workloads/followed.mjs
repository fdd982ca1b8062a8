/** What follows an edit, and pictures: language servers in a project of some 400 files, images as they are and scaled. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { deflateSync, crc32 } from 'node:zlib'
import { createTools } from 'toolwright'

const repository = resolve(import.meta.dirname, '../..')
const CALL = { toolCallId: 'call', messages: [] }
/** Some 35 files import it. */
const FILE = 'ts/core/text.ts'
/** How many files are edited in turn. */
const EDITED = 20

/** The sources of this package as a project of their own. */
function project(folder, name) {
  const root = join(folder, name)
  mkdirSync(root, { recursive: true })
  cpSync(join(repository, 'ts'), join(root, 'ts'), { recursive: true })
  for (const file of ['index.d.ts', 'package.json', 'tsconfig.json']) cpSync(join(repository, file), join(root, file))
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
  return root
}

/** Texts of a file that differ, with a problem in every second one. */
function texts(root, file) {
  const original = readFileSync(join(root, file), 'utf8')
  let turn = 0
  return () => {
    turn += 1
    const content = `${original}\nexport const added${turn}: number = ${turn % 2 === 0 ? turn : "'text'"}\n`
    return { hasProblem: turn % 2 === 1, content }
  }
}

/** How long until the text is on the disk, with and without servers. */
async function committed({ folder }) {
  const root = project(folder, 'committed')
  const checking = createTools({ rootDir: root, languageServers: { waitMs: 0 }, unseenChanges: 'allow' })
  const plain = createTools({ rootDir: root, unseenChanges: 'allow' })
  const contender = (tools) => {
    const next = texts(root, FILE)
    const write = () => {
      const { content } = next()
      return { content, answer: tools.write.execute({ path: FILE, content }, CALL) }
    }
    return {
      run: async () => {
        const before = statSync(join(root, FILE)).ino
        const start = performance.now()
        const { answer } = write()
        // A replaced file is another one.
        // eslint-disable-next-line no-await-in-loop -- until it is
        while (statSync(join(root, FILE)).ino === before) await setImmediate()
        const time = performance.now() - start
        await answer
        return time
      },
      verify: async () => {
        const { answer, content } = write()
        await answer
        assert.equal(readFileSync(join(root, FILE), 'utf8'), content)
      },
    }
  }
  return { ours: contender(checking), plain: contender(plain) }
}

/** How long until the problems of an edit are told, of files in turn: by us, and by the workspace of Mastra. */
async function told({ folder, installed }, filesOf) {
  const root = project(folder, `told-${filesOf.name}`)
  const tools = createTools({ rootDir: root, languageServers: { waitMs: 60_000 }, unseenChanges: 'allow' })
  const contender = async (base, write, problem) => {
    const files = filesOf(base).map((path) => ({ path, next: texts(base, path) }))
    let turn = 0
    const one = async () => {
      const { path, next } = files[turn % files.length]
      turn += 1
      const { hasProblem, content } = next()
      const answer = await write(path, content)
      assert.equal(problem.test(answer), hasProblem, answer)
    }
    await one()
    return { run: one, verify: one }
  }
  const ours = await contender(
    root,
    async (path, content) => {
      const output = await tools.write.execute({ path, content }, CALL)
      return tools.write.toModelOutput({ ...CALL, input: { path, content }, output }).value
    },
    /TS2322/u,
  )
  if (installed.mastra?.entry === undefined) return { ours }
  const { createWorkspaceTools, LocalFilesystem, LocalSandbox, Workspace } = await import(pathToFileURL(installed.mastra.entry).href)
  const its = project(folder, `told-${filesOf.name}-mastra`)
  const workspace = new Workspace({
    filesystem: new LocalFilesystem({ basePath: its }),
    sandbox: new LocalSandbox({ workingDirectory: its }),
    lsp: { diagnosticTimeout: 60_000 },
  })
  await workspace.init()
  const { mastra_workspace_write_file: write } = await createWorkspaceTools(workspace)
  const mastra = await contender(
    its,
    (path, content) => write.execute({ path, content, overwrite: true }, { workspace }),
    /Type 'string' is not assignable/u,
  )
  return { ours, mastra }
}

/** Files from all over the project. */
function spread(root) {
  const all = readdirSync(join(root, 'ts'), { recursive: true })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.startsWith('report/page'))
    .toSorted()
  return Array.from({ length: EDITED }, (_, index) => join('ts', all[Math.floor((index * all.length) / EDITED)]))
}
const imported = () => [FILE]

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** A grey picture. */
function picture(width, height) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc(height * (width + 1))
  for (let at = 0; at < rows.length; at += 1) rows[at] = at % (width + 1) === 0 ? 0 : (at * 7) % 251
  const magic = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([magic, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

const shown =
  (width, height, expected) =>
  ({ folder }) => {
    const file = `picture-${width}.png`
    writeFileSync(join(folder, file), picture(width, height))
    const { read } = createTools({ rootDir: folder, documents: true, limits: { image: 3_000_000 } })
    const run = () => read.execute({ path: file }, CALL)
    return { ours: { run, verify: (answer) => assert.match(answer, expected) } }
  }

const effort = (rounds, budgetMs, more = {}) => ({
  quick: { rounds: 5, batch: 1, budgetMs: 5_000, ...more },
  full: { rounds, batch: 1, budgetMs, ...more },
})

export const workloads = [
  { id: 'checked-commit', effort: effort(60, 20_000, { selfTimed: true }), contenders: committed },
  { id: 'problems-told', effort: effort(80, 60_000), contenders: (stage) => told(stage, spread) },
  { id: 'problems-told-imported', effort: effort(30, 60_000), contenders: (stage) => told(stage, imported) },
  { id: 'read-picture', effort: effort(60, 5_000), contenders: shown(1_200, 800, /^image\/png, 1200 × 800, \d+ bytes$/u) },
  { id: 'read-picture-scaled', effort: effort(15, 30_000), contenders: shown(4_000, 3_000, /scaled to 1568 × 1176$/u) },
]
