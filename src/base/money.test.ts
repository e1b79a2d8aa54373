import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDecimal } from '#base/money.ts'
import {
  chainPrices,
  PRICE_DECIMALS,
  toUsd,
  toUsdPrice,
  toUsdPriceExact,
  toValueExact,
  valueAt,
} from './money.ts'

const priceOf = (text: string) => parseDecimal(text, PRICE_DECIMALS) ?? assert.fail(text)

test('prices from 1e-30 to 1e12 dollars are shown exactly, and as the nearest JSON number', () => {
  for (const [text, number] of [
    [`0.${'0'.repeat(29)}1`, 1e-30],
    ['0.000000123456789012345678', 1.2345678901234568e-7],
    ['0.0000005', 5e-7],
    ['1', 1],
    ['3012.55', 3012.55],
    ['1000000000000', 1e12],
  ] as const) {
    assert.equal(toUsdPriceExact(priceOf(text)), text)
    assert.equal(toUsdPrice(priceOf(text)), number)
    assert.equal(JSON.parse(JSON.stringify(toUsdPrice(priceOf(text)))), number)
  }
})

test('a price keeps 18 significant digits through any number of quotes', () => {
  const digits = fc.bigInt({ min: 10n ** 17n, max: 10n ** 18n - 1n })
  const exponent = fc.integer({ min: -47, max: -5 })
  fc.assert(
    fc.property(digits, exponent, (significant, power) => {
      const price = significant * 10n ** BigInt(PRICE_DECIMALS + power)
      const quoteUsd = priceOf('3127.25')
      const exact = significant * 312_725n
      const shown = toUsdPriceExact(chainPrices(price, quoteUsd)).replace('.', '')
      const digitsShown = shown.replace(/^0+/, '').slice(0, 18).replace(/0+$/, '')
      const unit = 10n ** BigInt(exact.toString().length - 18)
      const rounded = ((exact + unit / 2n) / unit).toString().slice(0, 18).replace(/0+$/, '')
      assert.equal(digitsShown, rounded)
    }),
  )
})

test('sums of dollars have six decimals even if unit prices have more', () => {
  const price = priceOf('0.000000000000000000000000000123')
  const supply = 10n ** 30n
  assert.equal(toUsd(valueAt(supply * 10n ** 18n, 18, price)), 123)
  assert.equal(toUsd(valueAt(10n ** 18n, 18, price)), 0)
  assert.equal(toValueExact(10n ** 18n, 18, price), '0.000000000000000000000000000123')
})
