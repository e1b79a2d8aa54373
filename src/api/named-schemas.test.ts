import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { named } from '#lib/schema.ts'
import { NamedSchemas } from './named-schemas.ts'

const inner = named('Inner', { title: Type.String() })
const outer = named('Outer', { inner, list: Type.Array(inner) })

test('schemas with a title become components, examples with one do not', () => {
  const schemas = new NamedSchemas()
  const example = { title: 'An example' }
  const refer = { $ref: '#/components/schemas/Inner' }
  assert.deepEqual(schemas.referIn({ content: { schema: outer, example } }), {
    content: { schema: { $ref: '#/components/schemas/Outer' }, example },
  })
  assert.deepEqual(schemas.all(), {
    Inner: { type: 'object', required: ['title'], properties: { title: { type: 'string' } } },
    Outer: {
      type: 'object',
      required: ['inner', 'list'],
      properties: { inner: refer, list: { type: 'array', items: refer } },
    },
  })
})

test('two schemas of one title are refused', () => {
  const other = named('Inner', { value: Type.Integer() })
  const both = Type.Object({ inner, other })
  assert.throws(() => new NamedSchemas().referIn({ schema: both }), /two schemas "Inner"/)
})
