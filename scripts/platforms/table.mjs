// The table of docs/platforms.md.

const LAYERS = [
  ['files', 'files'],
  ['fileMetadata', 'file metadata'],
  ['network', 'network'],
  ['loopback', 'loopback'],
  ['unixSockets', 'unix sockets'],
  ['ipc', 'shared memory'],
  ['processKill', 'process kill'],
  ['limits', 'limits'],
  ['env', 'environment'],
]
const BEGIN = '<!-- written by npm run test:platforms -- --write -->'
const END = '<!-- end of what is written -->'

export function tableOf(results) {
  const date = new Date().toISOString().slice(0, 10)
  const head = `| place | user | ${LAYERS.map(([, title]) => title).join(' | ')} | attacks with an effect |`
  const line = `| --- | --- | ${LAYERS.map(() => '---').join(' | ')} | --- |`
  const rows = results.map(({ place, mode, levels, results: attacks }) => {
    const effects = attacks.filter(({ happened }) => happened)
    return `| ${place} | ${mode} | ${LAYERS.map(([name]) => levels[name]).join(' | ')} | ${effects.map(({ name }) => name).join('; ') || `none of ${attacks.length}`} |`
  })
  return [`Run on ${date}.`, '', head, line, ...rows].join('\n')
}

export function withTable(page, table) {
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < 0) throw new Error('docs/platforms.md has no place for the table')
  return `${page.slice(0, before + BEGIN.length)}\n\n${table}\n\n${page.slice(after)}`
}
