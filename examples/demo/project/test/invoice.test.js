import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invoiceTotals, renderInvoice } from '../src/index.js'

const invoice = {
  number: '2025-0117',
  currency: 'EUR',
  lines: [
    { text: 'Notebook A5', quantity: 4, unitPrice: 390, taxRate: 19 },
    { text: 'City guide', quantity: 2, unitPrice: 1250, taxRate: 7, discount: 10 },
  ],
}

test('invoiceTotals adds net, tax and gross up', () => {
  assert.deepEqual(invoiceTotals(invoice), {
    net: 3810,
    taxes: [
      { rate: 7, net: 2250, tax: 158 },
      { rate: 19, net: 1560, tax: 296 },
    ],
    tax: 454,
    gross: 4264,
  })
})

test('invoiceTotals charges many small lines to the cent', () => {
  const stamps = Array.from({ length: 12 }, () => ({ text: 'Stamp', quantity: 1, unitPrice: 95, taxRate: 19 }))
  assert.equal(invoiceTotals({ lines: stamps }).gross, 1357)
})

test('renderInvoice aligns the amounts', () => {
  assert.equal(
    renderInvoice(invoice),
    [
      'Invoice 2025-0117',
      '4 x Notebook A5                    15.60 EUR',
      '2 x City guide                     22.50 EUR',
      'Net                                38.10 EUR',
      'Tax 7 %                             1.58 EUR',
      'Tax 19 %                            2.96 EUR',
      'Total                              42.64 EUR',
    ].join('\n'),
  )
})
