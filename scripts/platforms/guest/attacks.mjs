// The attacks of the confinement suites, as they are in the checkout, in a machine: each without the sandbox, and in it.
// `attacks.mjs MODE UID [confined]`: with `confined`, only in it. Prints one line for what was tried: ATTACKS and JSON.
import { attacks } from './__test__/confinement/attacks/all.ts'
import { attempt } from './__test__/confinement/attempt.ts'
import { Host } from './__test__/confinement/stage/host.ts'

const AT_ONCE = 4
const [mode, uid, only] = process.argv.slice(2)
const host = await Host.start({ name: mode, uid: Number(uid) })
const report = await host.order({ how: 'report', options: { rootDir: host.rootDir } })
const queue = Object.entries(attacks)
  .flatMap(([kind, list]) => list.map((attack) => ({ kind, attack })))
  .filter(({ attack }) => attack.only === undefined || (attack.only === 'root') === (uid === '0'))
const results = []

async function tryOne({ kind, attack }) {
  const result = { kind, name: attack.name, needs: attack.needs }
  const short = (text) => text.replaceAll(/\s+/gu, ' ').slice(0, 300)
  if (only !== 'confined') {
    let plain = await attempt(host, attack, 'plain')
    // As in the suite: others use up the same numbers, processes and times.
    for (let more = 2; !plain.happened && more > 0 && attack.needs === undefined; more -= 1) plain = await attempt(host, attack, 'plain')
    result.control = plain.happened
    if (!plain.happened) return { ...result, account: short(plain.account) }
  }
  const { tried, happened, account } = await attempt(host, attack, 'confined')
  return { ...result, tried, happened, ...((happened || !tried) && { account: short(account) }) }
}

async function work() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { kind, attack } = next
    const failed = (error) => ({
      kind,
      name: attack.name,
      needs: attack.needs,
      control: false,
      isUnstaged: true,
      account: String(error).slice(0, 300),
    })
    results.push(await tryOne(next).catch(failed))
    if (results.length % 25 === 0) console.log(`${results.length} attacks as ${mode}`)
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work))
const layers = Object.fromEntries(
  Object.entries(report).flatMap(([name, row]) => (row?.level ? [[name, { level: row.level, mechanism: row.mechanism }]] : [])),
)
console.log(`ATTACKS ${JSON.stringify({ mode, isConfinedOnly: only === 'confined', layers, results })}`)
await host.stop()
process.exit()
