import { summarise } from './statistics.mjs'

/** @typedef {import('./statistics.mjs').Summary} Summary */

/**
 * A goal with what was measured.
 * @typedef {object} Row
 * @property {string} id
 * @property {string} operation
 * @property {number | null} must
 * @property {number | null} target
 * @property {'ratio' | 'times' | 'ms'} unit the more the better for `ratio`, and the less for the others
 * @property {number | null} measured of medians
 * @property {number | null} measuredByMinima which load on the machine moves less
 * @property {number} [toOriginal] how much faster we are than the tool that is replaced, where that is no goal
 * @property {number} [atFloor] the ratio that the least native addon reaches in the same run
 * @property {'ok' | 'below target' | 'BELOW MUST' | 'measured' | 'not yet' | 'FAILED'} verdict
 * @property {string} note
 * @property {Record<string, Summary>} contenders in milliseconds
 */

/**
 * @param {import('./goals.mjs').Goal} goal
 * @param {Record<string, { samples: object, problems: Record<string, string> }>} results by workload
 * @param {boolean} quick
 * @returns {Row}
 */
export function judge(goal, results, quick) {
  const { id, operation, must = null, target = null, measure = 'ratio', against = 'smithers' } = goal
  const units = { ratio: 'ratio', over: 'times' }
  const row = { id, operation, must, target, unit: units[measure] ?? 'ms', contenders: {} }
  if (goal.pending !== undefined) return { ...row, measured: null, measuredByMinima: null, verdict: 'not yet', note: goal.pending }

  const { samples = {}, problems = { ours: 'the process ended without a result' } } = results[goal.workload] ?? {}
  for (const [name, { samplesMs, delaysMs }] of Object.entries(samples)) {
    row.contenders[name] = summarise(measure === 'delay' ? delaysMs : samplesMs)
  }
  const notes = Object.entries(problems).map(([name, problem]) => `${name}: ${problem}`)
  if (quick && goal.quickly !== undefined) notes.push(`quick: ${goal.quickly}`)
  const note = notes.join('; ')
  const { ours, [against]: other } = row.contenders
  if (ours === undefined || (['ratio', 'over', 'added'].includes(measure) && other === undefined)) {
    return { ...row, measured: null, measuredByMinima: null, verdict: 'FAILED', note: note || `nothing to compare with: no ${against}` }
  }
  const by = (kind) => {
    if (measure === 'ratio') return other[kind] / ours[kind]
    if (measure === 'over') return ours[kind] / other[kind]
    return measure === 'added' ? ours[kind] - other[kind] : ours[kind]
  }
  const measured = by('median')
  const { floor, smithers } = row.contenders
  if (measure === 'over' && smithers !== undefined) row.toOriginal = smithers.median / ours.median
  if (smithers !== undefined && floor !== undefined) row.atFloor = smithers.median / floor.median
  return { ...row, measured, measuredByMinima: by('min'), verdict: verdict(measured, goal, measure === 'ratio'), note }
}

function verdict(measured, { must, target }, moreIsBetter) {
  if (must === undefined) return 'measured'
  const reaches = (goal) => goal === undefined || (moreIsBetter ? measured >= goal : measured <= goal)
  if (!reaches(must)) return 'BELOW MUST'
  return reaches(target) ? 'ok' : 'below target'
}
