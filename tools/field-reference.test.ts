import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { inspect } from 'node:util'
import local from '#devnet/local-ecosystem.ts'
import { ecosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { fieldMeanings } from './field-meanings.ts'
import { defaults, drawReference, fieldsOf, namesOf, referencePath } from './field-reference.ts'

const fields = fieldsOf(ecosystemFile)

test('the reference of the ecosystem file is up to date', async () => {
  assert.equal(
    await readFile(referencePath, 'utf8'),
    drawReference(),
    'run: node tools/field-reference.ts',
  )
})

test('every meaning is that of a field', () => {
  const used = new Set(fields.flatMap(({ path }) => namesOf(path)))
  assert.deepEqual(
    Object.keys(fieldMeanings).filter((name) => !used.has(name)),
    [],
  )
})

test('fields inside lists, choices and kinds of prices are among the fields', () => {
  const paths = fields.map(({ path }) => path)
  for (const path of [
    'payment.payTo[].since',
    'gate.minimumUsd',
    'tokens[].price.quoteIndex',
    'tokens[].price.since',
    'tokens[].bridges[].amount',
  ])
    assert.ok(paths.includes(path), path)
  assert.equal(new Set(paths).size, paths.length)
})

test('a default on the page is what the service takes where the field is missing', () => {
  const { quotas: _, pricePerCallUsd: __, ...file } = local
  const plain = resolved(file)
  for (const [path, value] of defaults())
    assert.equal(resolved(withValue(file, path.split('.'), value)), plain, path)
  assert.notEqual(resolved(withValue(file, ['quotas', 'free'], 1)), plain)
  assert.ok(defaults().size >= 5)
})

/** As text, because resolved events hold functions. */
function resolved(file: unknown): string {
  const { file: _, ...ecosystem } = parseEcosystem('test', file)
  return inspect(ecosystem, { depth: Number.POSITIVE_INFINITY, sorted: true })
}

/** The value at a path, in every entry of a list. */
function withValue(target: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return value
  const key = name.replace('[]', '')
  const record = Object(target) as Readonly<Record<string, unknown>>
  const inner = record[key]
  const changed = Array.isArray(inner)
    ? inner.map((entry: unknown) => withValue(entry, rest, value))
    : withValue(inner, rest, value)
  return { ...record, [key]: changed }
}
