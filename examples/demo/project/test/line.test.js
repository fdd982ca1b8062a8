import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lineNet } from '../src/index.js'

test('lineNet multiplies and takes the discount off', () => {
  assert.equal(lineNet({ quantity: 4, unitPrice: 390 }), 1560)
  assert.equal(lineNet({ quantity: 2, unitPrice: 1250, discount: 10 }), 2250)
})

test('lineNet refuses fractions of a piece and impossible discounts', () => {
  assert.throws(() => lineNet({ quantity: 1.5, unitPrice: 100 }), RangeError)
  assert.throws(() => lineNet({ quantity: 1, unitPrice: 100, discount: 101 }), RangeError)
})
