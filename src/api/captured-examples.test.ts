import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capturedExamples } from './captured-examples.ts'

function examples(name: string, primary: string, secondary: string): string {
  const token = { name: 'A token', decimals: 18, addresses: {} }
  const tokens = [
    { ...token, role: 'primary', symbol: primary } as const,
    { ...token, role: 'secondary', symbol: secondary } as const,
  ]
  const facts = { name, publicBaseUrl: 'https://a.b', keyPrefix: 'own', payment: null, tokens }
  return JSON.stringify(capturedExamples(facts))
}

const count = (text: string, part: string) => text.split(part).length - 1

test('names are shown as they are, whatever JSON or a replacement makes of their characters', () => {
  for (const name of ['Grave "Data" API', 'C:\\graves', "Bob & $& Co $1 $' $$"])
    for (const symbol of ['A"B', 'A\\B', '$&']) {
      const text = examples(name, symbol, 'OTHER')
      assert.ok(text.includes(JSON.stringify(`${name}: mint an API key`).slice(1, -1)), name)
      assert.ok(text.includes(JSON.stringify(symbol)), symbol)
    }
})

test('a token may have the name of another token of the captured service', () => {
  const plain = examples('Sexton', 'GRAVE', 'CRYPT')
  const swapped = examples('Sexton', 'CRYPT', 'GRAVE')
  assert.ok(count(plain, '"GRAVE"') > 0)
  assert.equal(count(swapped, '"CRYPT"'), count(plain, '"GRAVE"'))
  assert.equal(count(swapped, '"GRAVE"'), count(plain, '"CRYPT"'))
})
