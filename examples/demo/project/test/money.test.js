import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAmount, parseAmount, percentOf } from '../src/index.js'

test('parseAmount reads whole and fractional amounts', () => {
  assert.equal(parseAmount('12.50'), 1250)
  assert.equal(parseAmount('12.5'), 1250)
  assert.equal(parseAmount(' -3 '), -300)
})

test('parseAmount refuses what is no amount', () => {
  for (const text of ['', '1,50', '1.234', 'ten']) assert.throws(() => parseAmount(text), RangeError)
})

test('formatAmount writes two decimals and the currency', () => {
  assert.equal(formatAmount(1250, 'EUR'), '12.50 EUR')
  assert.equal(formatAmount(-5, 'EUR'), '-0.05 EUR')
})

test('percentOf rounds half away from zero', () => {
  assert.equal(percentOf(150, 7), 11)
  assert.equal(percentOf(-150, 7), -11)
  assert.equal(percentOf(2000, 7.7), 154)
})
