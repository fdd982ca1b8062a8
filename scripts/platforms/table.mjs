// The tables of docs/platforms.md.
import { PACKAGES } from './packages.mjs'

const LAYERS = [
  ['files', 'files'],
  ['fileMetadata', 'file metadata'],
  ['git', 'git'],
  ['network', 'network'],
  ['loopback', 'loopback'],
  ['unixSockets', 'unix sockets'],
  ['ipc', 'shared memory'],
  ['processKill', 'process kill'],
  ['limits', 'limits'],
  ['env', 'environment'],
]
const END = '<!-- end of what is written -->'

const markdown = (head, rows) => [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The day of the oldest of what a table says. */
const day = (outcomes) => outcomes.map(({ date }) => date).toSorted()[0]

/** For each user of each place, what the report says and what the attacks could do. */
export function promisesTable(outcomes) {
  const shown = outcomes.filter(({ promises }) => promises !== undefined)
  if (shown.length === 0) return undefined
  const rows = shown
    .flatMap(({ promises }) => promises)
    .map(({ place, mode, levels, results }) => {
      const effects = results.filter(({ happened }) => happened)
      const attacks = effects.map(({ name }) => name).join('; ') || `none of ${results.length}`
      return [place, mode, ...LAYERS.map(([name]) => levels[name]), attacks]
    })
  return `Run on ${day(shown)}.\n\n${markdown(['place', 'user', ...LAYERS.map(([, title]) => title), 'attacks with an effect'], rows)}`
}

/** For each user of each place, what came of the attacks of the confinement suites. */
export function attacksTable(outcomes) {
  const shown = outcomes.filter(({ attacks }) => attacks !== undefined)
  if (shown.length === 0) return undefined
  const rows = shown
    .flatMap(({ attacks }) => attacks)
    .map(({ place, mode, tried, skipped, effects, wrong }) => {
      const kinds = Map.groupBy(effects, (effect) => effect.split(':')[0])
      const admitted = [...kinds].map(([kind, list]) => `${kind} ${list.length}`).join(', ') || 'none'
      return [place, mode, tried, skipped, admitted, wrong]
    })
  const head = ['place', 'user', 'attacks', 'not possible there', 'with an effect', 'of these not admitted']
  return `Run on ${day(shown)}.\n\n${markdown(head, rows)}`
}

/** For each package, how far it came. */
export function packagesTable(outcomes) {
  const rows = PACKAGES.map(({ platform, os }) => packageRow(outcomes, platform, os))
  const head = ['package', 'built', 'linked', 'loaded', 'tests passed', 'by']
  return `Run on ${day(outcomes)}.\n\n${markdown(head, rows)}`
}

function packageRow(outcomes, platform, os) {
  const own = outcomes.filter(({ row }) => row.platform === platform || row.alsoFor === platform)
  const build = own.find(({ row }) => row.isBuild)
  const runs = own.filter(({ row }) => !row.isBuild)
  const done = runs.filter(({ checks }) => checks !== undefined)
  const ran = done.filter(({ row }) => row.isMachine || row.isRun)
  const [passed, checks] = ['passed', 'checks'].map((name) => done.reduce((sum, outcome) => sum + outcome[name], 0))
  const missed = runs.filter(({ reason }) => reason !== undefined)
  return [
    platform,
    build === undefined ? 'not tried' : build.reason === undefined ? 'yes' : `no: ${build.reason}`,
    build?.problems === undefined ? 'no' : build.problems.join('; ') || 'yes',
    os === 'darwin' ? 'no: it needs macOS' : ran.length > 0 ? 'yes' : 'no',
    `${passed} of ${checks}`,
    [...done.map(({ row }) => row.name), ...missed.map(({ row, reason }) => `not ${row.name}: ${reason}`)].join('; '),
  ]
}

/** The page with the tables that there are. */
export function withTables(page, tables) {
  return Object.entries(tables).reduce((text, [name, table]) => {
    if (table === undefined) return text
    const begin = `<!-- ${name}: written by npm run test:platforms -- --write -->`
    const before = text.indexOf(begin)
    const after = text.indexOf(END, before)
    if (before < 0 || after < 0) throw new Error(`docs/platforms.md has no place for the table of ${name}`)
    return `${text.slice(0, before + begin.length)}\n\n${table}\n\n${text.slice(after)}`
  }, page)
}
