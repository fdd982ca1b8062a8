import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { numbersFrom } from './random.mjs'
import { NOUNS, sourceText, VERBS } from './source-text.mjs'

/** Part of every corpus's name: raise it when the generator gives other files. */
const GENERATION = 2

/**
 * A tree of files that look like a project's.
 * @typedef {{ name: string, files: number, medianBytes: number, sigma: number }} Corpus
 */

/** @type {Record<'few' | 'medium' | 'large', { full: Corpus, quick: Corpus }>} */
export const corpora = {
  few: {
    full: { name: 'corpus-20', files: 20, medianBytes: 3_000, sigma: 0.6 },
    quick: { name: 'corpus-20', files: 20, medianBytes: 3_000, sigma: 0.6 },
  },
  medium: {
    full: { name: 'corpus-15k', files: 15_000, medianBytes: 2_600, sigma: 1.2 },
    quick: { name: 'corpus-1500', files: 1_500, medianBytes: 2_600, sigma: 1.2 },
  },
  large: {
    full: { name: 'corpus-78k', files: 78_000, medianBytes: 5_000, sigma: 1.2 },
    quick: { name: 'corpus-4k', files: 4_000, medianBytes: 5_000, sigma: 1.2 },
  },
}

const EXTENSIONS = ['ts', 'ts', 'ts', 'js', 'rs', 'rs', 'c', 'h', 'md', 'json']
/** Directories that no search enters; one file in ten lies in one of them, on top of the others. */
const IGNORED = ['node_modules', 'target', '.hidden']
const LARGEST = 300_000
const POOL_BYTES = 8 << 20

/**
 * The folder of a corpus, made on first use and kept.
 * @param {Corpus} corpus
 * @param {string} cache where corpora are kept
 * @param {(text: string) => void} say
 */
export function corpusFolder(corpus, cache, say) {
  const folder = join(cache, `${corpus.name}-g${GENERATION}`)
  if (existsSync(folder)) return folder
  say(`making ${corpus.name}: ${corpus.files} files …`)
  const unfinished = `${folder}.${process.pid}`
  rmSync(unfinished, { recursive: true, force: true })
  writeCorpus(corpus, unfinished)
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another run was faster.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** @param {Corpus} corpus @param {string} folder */
function writeCorpus(corpus, folder) {
  const random = numbersFrom(corpus.files)
  // Files are cut from one long text: to write each one anew would take minutes.
  const pool = Buffer.from(sourceText(corpus.files, POOL_BYTES))
  // A repository of its own, so that ignore files of the folders above have no say in it.
  for (const name of ['objects', 'refs']) mkdirSync(join(folder, '.git', name), { recursive: true })
  writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(folder, '.gitignore'), 'node_modules/\ntarget/\n*.log\n!keep.log\n')

  const folders = makeFolders(folder, Math.max(3, Math.round(corpus.files / 12)), random)
  for (let index = 0; index < corpus.files; index += 1) {
    const name = `${random.pick(VERBS)}-${random.pick(NOUNS)}-${index}.${random.pick(EXTENSIONS)}`
    writeFileSync(join(random.pick(folders), name), cut(pool, corpus, random))
  }
  for (const ignored of IGNORED) {
    const inside = join(folder, ignored, 'inner')
    mkdirSync(inside, { recursive: true })
    const count = Math.round(corpus.files / 10 / IGNORED.length)
    for (let index = 0; index < count; index += 1) {
      writeFileSync(join(inside, `file-${index}.ts`), cut(pool, corpus, random))
    }
  }
}

/** Folders up to six deep. */
function makeFolders(top, count, random) {
  const folders = [{ path: top, depth: 0 }]
  while (folders.length < count) {
    const parent = random.pick(folders)
    if (parent.depth >= 6) continue
    const path = join(parent.path, `${random.pick(NOUNS)}${folders.length}`)
    mkdirSync(path)
    folders.push({ path, depth: parent.depth + 1 })
  }
  return folders.map(({ path }) => path)
}

/** Whole lines from anywhere in the pool. */
function cut(pool, { medianBytes, sigma }, random) {
  const bytes = Math.min(LARGEST, Math.max(40, Math.round(random.logNormal(medianBytes, sigma))))
  const from = pool.indexOf(10, random.below(pool.length - bytes - 1_000)) + 1
  return pool.subarray(from, pool.indexOf(10, from + bytes) + 1)
}
