import { taxByRate } from './tax.js'

const sumOf = (items, key) => items.reduce((sum, item) => sum + item[key], 0)

/** Net, tax per rate, tax and gross of an invoice. */
export function invoiceTotals({ lines }) {
  const taxes = taxByRate(lines)
  const net = sumOf(taxes, 'net')
  const tax = sumOf(taxes, 'tax')
  return { net, taxes, tax, gross: net + tax }
}
