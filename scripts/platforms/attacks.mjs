// What the attacks of the confinement suites have come to in a machine: `guest/attacks.mjs` prints it.

/** The layers of the report that can say of a kind of attack that it may have its effect, by not being the kernel's. */
const LAYERS = {
  network: ['network', 'loopback', 'unixSockets'],
  files: ['files'],
  metadata: ['fileMetadata'],
  processes: ['processKill'],
  ipc: ['ipc'],
  environment: ['env', 'files'],
  kernel: ['files'],
  supervisor: ['processKill'],
  limits: ['limits'],
}
/** What a layer that holds otherwise says that it leaves open. */
const NAMED = [
  { layer: 'processKill', says: /other processes of the user can be seen/u, attacks: ['the list of processes'] },
  {
    layer: 'processKill',
    says: /given other processors/u,
    attacks: ['sched_setaffinity', 'sched_setscheduler'],
  },
  { layer: 'env', says: /not their arguments/u, attacks: ['the arguments of the host'] },
  { layer: 'ipc', says: /terminals/u, attacks: ['writing to a terminal', 'typing into a terminal'] },
]

/** The layers that admit an attack. */
function admitting({ kind, name }, layers) {
  const named = NAMED.filter(({ layer, says, attacks }) => attacks.includes(name) && says.test(layers[layer].mechanism))
  return [...LAYERS[kind].filter((layer) => layers[layer].level !== 'kernel'), ...named.map(({ layer }) => layer)]
}

export function readAttacks(log) {
  const results = [...log.matchAll(/^ATTACKS (\{.*\})\r?$/gmu)].map(([, json]) => JSON.parse(json))
  const failures = [...log.matchAll(/^FAILED (.*)$/gmu)].map(([, text]) => text.trim())
  if (failures.length > 0 || results.length === 0) throw new Error(failures.join('; ') || `no result in: ${log.slice(-300)}`)
  return results
}

/** What is wrong: an effect that the report does not admit, or an attack that proves nothing. */
export function judgeAttacks(place, modes) {
  // What works without the sandbox is shown once for each user.
  const proven = new Set(
    modes.filter(({ isConfinedOnly }) => !isConfinedOnly).flatMap(({ results }) => results.filter(({ control }) => control).map(keyOf)),
  )
  const rows = modes.map((one) => judgeMode(place, one, proven))
  return {
    checks: rows.reduce((sum, { tried }) => sum + tried, 0),
    skipped: rows.reduce((sum, { skipped }) => sum + skipped, 0),
    failed: rows.reduce((sum, { wrong }) => sum + wrong, 0),
    problems: rows.flatMap(({ problems }) => problems),
    attacks: rows,
  }
}

/**
 * Where signals reach the other processes of the user, a command can end or stop the one that would have told what it printed:
 * that is the effect, and nothing else shows it.
 */
const isSilenced = (result, layers) =>
  result.kind === 'supervisor' &&
  result.tried === false &&
  admitting(result, layers).length > 0 &&
  /its end could not be observed|aborted due to timeout/u.test(result.account)

const keyOf = ({ kind, name }) => `${kind}: ${name}`

function judgeMode(place, { mode, layers, results, isConfinedOnly }, proven) {
  const problems = []
  const effects = []
  let [tried, skipped, wrong] = [0, 0, 0]
  for (const result of results) {
    const one = isSilenced(result, layers) ? { ...result, tried: true, happened: true } : result
    const key = keyOf(one)
    // Where it was shown to work, what it is on may be missing now: a namespace of a process, for one.
    const isPossible = isConfinedOnly ? proven.has(key) && !(one.isUnstaged && one.needs !== undefined) : one.control
    const say = (text) => problems.push(`${mode}: ${key}: ${text}${one.account ? ` (${one.account})` : ''}`)
    if (!isPossible) {
      skipped += 1
      if (!isConfinedOnly && one.needs === undefined) say('it does not work without the sandbox either')
      continue
    }
    tried += 1
    const isAdmitted = admitting(one, layers).length > 0
    if (one.happened) effects.push(key)
    if ((one.happened && !isAdmitted) || !one.tried) wrong += 1
    if (one.happened && !isAdmitted) say('it had an effect that the report does not admit')
    else if (!one.tried) say('it never began')
  }
  return { place, mode, tried, skipped, wrong, effects, problems }
}
