import { invoiceTotals } from './invoice.js'
import { lineNet } from './line.js'
import { formatAmount } from './money.js'

const WIDTH = 44

/** The invoice as plain text, amounts aligned to the right. */
export function renderInvoice(invoice) {
  const amount = cents => formatAmount(cents, invoice.currency)
  const row = (label, cents) => {
    const text = amount(cents)
    return `${label.padEnd(WIDTH - text.length - 1)} ${text}`
  }
  const { net, taxes, gross } = invoiceTotals(invoice)
  return [
    `Invoice ${invoice.number}`,
    ...invoice.lines.map(line => row(`${line.quantity} x ${line.text}`, lineNet(line))),
    row('Net', net),
    ...taxes.map(({ rate, tax }) => row(`Tax ${rate} %`, tax)),
    row('Total', gross),
  ].join('\n')
}
