import { lineNet } from './line.js'
import { percentOf } from './money.js'

/** Net amount and tax of each tax rate in use, lowest rate first. */
export function taxByRate(lines) {
  const groups = new Map()
  for (const line of lines) {
    const group = groups.get(line.taxRate) ?? { rate: line.taxRate, net: 0, tax: 0 }
    const net = lineNet(line)
    group.net += net
    group.tax += percentOf(net, line.taxRate)
    groups.set(line.taxRate, group)
  }
  return [...groups.values()].sort((a, b) => a.rate - b.rate)
}
