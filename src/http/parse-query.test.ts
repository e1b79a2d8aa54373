import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeQueryParser, parseQuery } from './parse-query.ts'

test('a query that comes again means the same, however many others came between', () => {
  const parse = makeQueryParser()
  const text = 'a=1&a=2&__proto__=x&b=%20'
  assert.equal(parse(text), parse(text))
  for (let other = 0; other < 3_000; other += 1) parse(`other=${other}`)
  assert.deepEqual(parse(text), parseQuery(text))
  const long = `long=${'x'.repeat(1_000)}`
  assert.deepEqual(parse(long), parseQuery(long))
})
